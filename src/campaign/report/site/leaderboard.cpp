#include <algorithm>
#include <functional>
#include <optional>

#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

// A set of problems that the table can be narrowed to.
struct Scope {
  std::string value, label;  // "level:2", "Level 2"
  std::function<const Scores&(const Model&)> scores;
};

std::vector<Scope> scopes_of(const Summary& summary, std::string_view kind, std::string_view word,
                             std::vector<Group> Model::* groups) {
  std::vector<Scope> scopes;
  if (summary.models.empty()) return scopes;
  const auto& all = summary.models.front().*groups;
  // With a single group there is nothing to choose.
  if (all.size() < 2) return scopes;
  for (size_t i = 0; i < all.size(); ++i) {
    scopes.push_back({fmt::format("{}:{}", kind, all[i].name), fmt::format("{}{}", word, all[i].name),
                      [groups, i](const Model& model) -> const Scores& { return (model.*groups)[i].scores; }});
  }
  return scopes;
}

double most_of(const Summary& summary, const Scope& scope, Estimate Scores::* figure) {
  double most = 1;
  for (const Model& model : summary.models) {
    const Estimate& estimate = scope.scores(model).*figure;
    if (estimate.value) most = std::max(most, *estimate.value);
    if (estimate.interval) most = std::max(most, estimate.interval->high);
  }
  return most;
}

std::string sort_value(const std::optional<double>& value) { return value ? fmt::format("{:.9g}", *value) : ""; }

Html figure_cell(std::string_view label, const Estimate& estimate, double most, bool percent, bool main = false) {
  if (!estimate.value) return html("<td class=\"num\" data-label=\"{}\" data-v=\"\">{}</td>", label, kNothing);
  const std::string text = percent ? percent_text(*estimate.value) : ratio_text(*estimate.value);
  const std::string interval = percent ? percent_interval(estimate) : ratio_interval(estimate);
  return html(
      "<td class=\"num{}\" data-label=\"{}\" data-v=\"{}\"><span class=\"val\">{}</span>{}<small>{}</small></td>",
      main ? " main" : "", label, sort_value(estimate.value), text, interval_bar(estimate, most), interval);
}

std::string asked_text(const record::ModelSpec& spec) {
  // Paths of recorded answers and commands of agents stay private.
  const bool here = spec.provider == "recorded" || spec.provider == "command";
  std::string text = here || spec.model == spec.label ? "" : spec.model;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " · ") + part; };
  if (!spec.provider.empty()) add(spec.provider == "recorded" ? "recorded answers" : spec.provider);
  if (!spec.effort.empty()) add("effort " + spec.effort);
  if (spec.temperature) add(fmt::format("temperature {}", *spec.temperature));
  return text;
}

Html price_cell(const Model& model, bool whole) {
  const auto& price = model.price;
  if (!whole || !price.usd_per_problem)
    return html("<td class=\"num\" data-label=\"$ per problem\" data-v=\"\">{}</td>", kNothing);
  const std::string all = price.usd ? usd_text(*price.usd) + " in all" : "";
  return html(
      "<td class=\"num\" data-label=\"$ per problem\" data-v=\"{}\"><span class=\"val\">{}{}</span>"
      "<small>{}</small></td>",
      sort_value(price.usd_per_problem), price.without_price > 0 ? "≥ " : "", usd_text(*price.usd_per_problem), all);
}

Html body_of(const Summary& summary, const Scope& scope, bool whole) {
  const bool by_pass = summary.ranked_by == "pass_rate";
  const auto ranking = [&](const Model& model) {
    const Scores& scores = scope.scores(model);
    return (by_pass ? scores.pass_rate : scores.pass_gm).value.value_or(-1);
  };
  std::vector<const Model*> models;
  for (const Model& model : summary.models) models.push_back(&model);
  // Models are sorted by rank already; the sort is stable.
  std::ranges::sort(models, [&](const Model* a, const Model* b) {
    return whole || ranking(*a) == ranking(*b) ? a < b : ranking(*a) > ranking(*b);
  });

  const double most_gm = most_of(summary, scope, &Scores::pass_gm),
               most_speed = most_of(summary, scope, &Scores::gm_speedup);
  Html rows;
  for (const Model* model : models) {
    const Scores& scores = scope.scores(*model);
    const auto better =
        std::ranges::count_if(models, [&](const Model* other) { return ranking(*other) > ranking(*model); });
    const uint32_t rank = whole ? model->rank : static_cast<uint32_t>(better) + 1;
    Html open;
    if (whole && model->rank_from != model->rank_to) {
      open =
          html("<small title=\"The intervals leave these ranks open\">{}–{}</small>", model->rank_from, model->rank_to);
    }
    rows += html(
        "<tr data-name=\"{}\"><td class=\"rank\" data-label=\"Rank\" data-v=\"{}\"><b>{}</b>{}</td>"
        "<th scope=\"row\" data-v=\"{}\">{}<small>{}</small></th>",
        model->label, rank, rank, open, model->label, model->label, asked_text(model->spec));
    rows += figure_cell("Pass×GM", scores.pass_gm, most_gm, false, true);
    rows += figure_cell("Pass", scores.pass_rate, 1, true);
    rows += figure_cell("PASS+Good", scores.pass_good, 1, true);
    rows += figure_cell("GM speed", scores.gm_speedup, most_speed, false);
    rows += figure_cell("Of the limit", scores.sol, 1, true);
    rows += price_cell(*model, whole);
    rows += html(
        "<td class=\"num\" data-label=\"Samples\" data-v=\"{}\"><span class=\"val\">{}</span>"
        "<small>{}</small></td></tr>\n",
        scores.samples, count_text(scores.samples), plural(scores.problems, "problem", "problems"));
  }
  return html("<tbody data-scope=\"{}\"{}>\n{}</tbody>\n", scope.value, whole ? "" : " hidden", rows);
}

Html header_cell(std::string_view label, std::string_view meaning, std::string_view sorted, std::string_view kind) {
  return html("<th scope=\"col\"{} class=\"{}\"><button type=\"button\" title=\"{}\">{}</button></th>",
              sorted.empty() ? Html() : html(" aria-sort=\"{}\"", sorted), kind, meaning, label);
}

Html option_group(std::string_view label, const std::vector<Scope>& scopes) {
  if (scopes.empty()) return {};
  Html options;
  for (const Scope& scope : scopes) options += html("<option value=\"{}\">{}</option>", scope.value, scope.label);
  return html("<optgroup label=\"{}\">{}</optgroup>", label, options);
}

}  // namespace

Html leaderboard(const Site& site) {
  const Summary& summary = *site.summary;
  const Scope all{"all", "All problems", [](const Model& model) -> const Scores& { return model.scores; }};
  Html options = html("<option value=\"all\">All problems</option>"), bodies = body_of(summary, all, true);
  const auto add = [&](std::string_view label, const std::vector<Scope>& scopes) {
    options += option_group(label, scopes);
    for (const Scope& scope : scopes) bodies += body_of(summary, scope, false);
  };
  add("Level", scopes_of(summary, "level", "Level ", &Model::by_level));
  add("Category", scopes_of(summary, "category", "", &Model::by_category));
  add("Library", scopes_of(summary, "library", "", &Model::by_library));
  add("Track", scopes_of(summary, "track", "", &Model::by_track));
  add("Parallelism", scopes_of(summary, "parallelism", "", &Model::by_parallelism));

  Html head = header_cell("#", "Rank", "ascending", "rank");
  head += header_cell("Model", "Model", "", "");
  head += header_cell("Pass×GM", "Pass rate times geometric mean of speed: the ranking figure", "", "num");
  head += header_cell("Pass", "Share of samples that pass, every problem with the same weight", "", "num");
  head += header_cell(
      "PASS+Good",
      "Share of samples that pass and are about as fast as the reference, or the baseline where there is one", "",
      "num");
  head += header_cell(
      "GM speed", "Geometric mean of the time of the baseline, or the reference, / candidate time of passed samples",
      "", "num");
  head += header_cell("Of the limit", "Geometric mean of the hardware's limit / candidate time of passed samples", "",
                      "num");
  head += header_cell("$ per problem", "Price of all calls, divided by problems tried", "", "num");
  head += header_cell("Samples", "That count", "", "num");

  return html(
      "<section id=\"leaderboard\"><div class=\"head\"><h2>Leaderboard</h2>\n"
      "<form class=\"filters\" role=\"search\"><label><span>Models</span>"
      "<input type=\"search\" id=\"find-model\" placeholder=\"Filter by name\" autocomplete=\"off\"></label><label>"
      "<span>Problems</span><select id=\"scope\">{}</select></label><label class=\"narrow-only\"><span>Sort "
      "by</span><select id=\"sort-by\"></select></label></form></div>\n"
      "<div class=\"scroll\"><table class=\"board sortable\" id=\"board\"><thead>"
      "<tr>{}</tr></thead>\n{}</table></div>\n<p class=\"muted\">Bars show 95% intervals; this run does not separate "
      "models "
      "with overlapping intervals. Speed is the expert's time divided by the candidate's, and in the kernel track that "
      "of a plain baseline. PASS+Good: passed with a speed of at least {}.</p></section>\n",
      options, head, bodies, ratio_text(summary.options.good));
}

}  // namespace fb::report::site
