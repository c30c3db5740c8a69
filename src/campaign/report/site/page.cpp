#include "campaign/report/site/page.h"

#include <algorithm>

#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

// Three links into a switch.
constexpr std::string_view kIcon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='7' fill='%230b63b5'/%3E%3Cg stroke='%23fff' stroke-width='2.6' fill='none'%3E%3Cpath d='M16 16 7 8M16 16 25 "
    "8M16 16v10'/%3E%3C/g%3E%3Cg fill='%23fff'%3E%3Ccircle cx='16' cy='16' r='4.4'/%3E%3Ccircle cx='7' cy='8' "
    "r='3.2'/%3E%3Ccircle cx='25' cy='8' r='3.2'/%3E%3Ccircle cx='16' cy='26' r='3.2'/%3E%3C/g%3E%3C/svg%3E";

// Only the site's own files: pages make no request to a network, and no script within an answer can run.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src 'self' file: data: "
    "blob:; base-uri 'none'; form-action 'none'";

Html trail_of(const Page& page) {
  Html trail;
  for (const auto& [name, address] : page.trail) trail += html("<a href=\"{}{}\">{}</a>", page.root, address, name);
  return trail.empty() ? Html() : html("<nav class=\"trail\" aria-label=\"Breadcrumb\">{}</nav>", trail);
}

}  // namespace

std::string problem_address(const Problem& problem) { return "problems/" + file_word(problem.name) + ".html"; }

std::string attempt_address(const Model& model, const Problem& problem, const Sample& sample, uint32_t round) {
  return fmt::format("attempts/{}/{}/s{}r{}.html", file_word(model.label), file_word(problem.name), sample.number,
                     round);
}

std::string render(const Site& site, const Page& page) {
  const std::string& root = page.root;
  Html scripts = html("<script src=\"{}assets/site.js\"></script>\n", root);
  if (page.wants_plots && site.has_bundles) {
    scripts += html(
        "<script defer src=\"{0}assets/plots.js\"></script>\n<script defer src=\"{0}assets/charts.js\"></script>\n",
        root);
  }
  if (page.wants_code && site.has_bundles) scripts += html("<script defer src=\"{}assets/code.js\"></script>\n", root);
  return html(
             "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta name=\"generator\" content=\"FabricBench\">\n<title>{}</title>\n"
             "<link rel=\"icon\" href=\"{}\">\n<link rel=\"stylesheet\" href=\"{}assets/site.css\">\n{}</head>\n"
             "<body>\n<header class=\"top\"><a class=\"brand\" href=\"{}index.html\">"
             "<span class=\"mark\" aria-hidden=\"true\"></span>FabricBench</a>{}"
             "<button type=\"button\" class=\"theme\" aria-label=\"Light or dark\" title=\"Light or "
             "dark\"></button></header>\n"
             "<main>\n{}</main>\n<footer><p>Written by <b>FabricBench</b>. Nothing on these pages was loaded from a "
             "network.</p></footer>\n</body>\n</html>\n",
             kPolicy, page.title, kIcon, root, scripts, root, trail_of(page), page.body)
      .str();
}

Html breakable(std::string_view name) {
  Html out;
  for (size_t end = name.find('_'); end != std::string_view::npos; end = name.find('_')) {
    out += html("{}<wbr>", name.substr(0, end + 1));
    name.remove_prefix(end + 1);
  }
  out += Html::text(name);
  return out;
}

Html outcome_badge(std::string_view outcome) {
  const OutcomeWords words = outcome_words(outcome);
  return html("<span class=\"badge o-{}\" title=\"{}\"><span aria-hidden=\"true\">{}</span> {}</span>", words.name,
              words.meaning, words.sign, words.label);
}

Html attempt_chip(const Site& site, const std::string& root, const Model& model, const Problem& problem,
                  const Sample& sample, uint32_t index) {
  const record::Attempt& attempt = site.attempt(sample, index);
  const OutcomeWords words = outcome_words(record::outcome(attempt));
  std::string title = fmt::format("sample {}, round {}: {}", sample.number, attempt.round, words.label);
  if (attempt.passed() && attempt.verdict->speed)
    title += fmt::format(", speed {}", ratio_text(*attempt.verdict->speed));
  if (!site.has_page(sample, index)) {
    return html("<span class=\"chip o-{}\" title=\"{}\">{}</span>", words.name, title, words.sign);
  }
  return html("<a class=\"chip o-{}\" href=\"{}{}\" title=\"{}\" aria-label=\"{}\">{}</a>", words.name, root,
              attempt_address(model, problem, sample, attempt.round), title, title, words.sign);
}

Html plot(const Site& site, std::string_view kind, std::string_view title, std::string_view json, const Html& table) {
  // With a plot the table is folded; without, it is open.
  const Html figure = site.has_bundles
                          ? html("<div class=\"plot\" data-plot=\"{}\" role=\"img\" aria-label=\"{}\"></div>\n{}", kind,
                                 title, Html::data(fmt::format("data-{}", kind), json))
                          : Html();
  const Html rows =
      html("<details{}><summary>The figures as a table</summary>\n<div class=\"scroll\">{}</div></details>\n",
           site.has_bundles ? "" : " open", table);
  const Html hint = site.has_bundles
                        ? Html()
                        : html(
                              "<p class=\"muted noplots\">Plots need the bundle <code>plots.js</code>: configure "
                              "FabricBench with <code>-DFB_WEB=ON</code> (needs npm), build it, and write this "
                              "report again.</p>\n");
  return html("<figure><figcaption>{}</figcaption>\n{}{}{}</figure>\n", title, figure, hint, rows);
}

Html percent_cell(const Estimate& estimate) {
  if (!estimate.value) return Html::text(kNothing);
  return html("{}<small>{}</small>", percent_text(*estimate.value), percent_interval(estimate));
}
Html ratio_cell(const Estimate& estimate) {
  if (!estimate.value) return Html::text(kNothing);
  return html("{}<small>{}</small>", ratio_text(*estimate.value), ratio_interval(estimate));
}

Html interval_bar(const Estimate& estimate, double most) {
  if (!estimate.value || most <= 0) return {};
  const auto place = [&](double value) { return 100 * std::clamp(value / most, 0.0, 1.0); };
  const Interval interval = estimate.interval.value_or(Interval{*estimate.value, *estimate.value});
  return html(
      "<span class=\"iv\" style=\"--l:{:.2f}%;--h:{:.2f}%;--v:{:.2f}%\" aria-hidden=\"true\"><i></i><b></b></span>",
      place(interval.low), place(interval.high), place(*estimate.value));
}

}  // namespace fb::report::site
