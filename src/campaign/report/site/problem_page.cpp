#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "campaign/report/site/code_view.h"
#include "campaign/report/site/markdown.h"
#include "campaign/report/site/pages.h"
#include "campaign/report/site/roofline.h"
#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

using Json = nlohmann::ordered_json;

// Times of one size and world: those of the samples' best attempts, by model.
struct SizeTimes {
  std::string size;
  int world = 0;
  double reference = 0, baseline = 0, limit = 0;  // 0: not known
  double yardstick() const { return baseline > 0 ? baseline : reference; }
  const ProblemCost* cost = nullptr;
  std::map<size_t, std::vector<double>> seconds;  // by model, sorted
};

std::vector<SizeTimes> times_of(const Site& site, size_t index) {
  const Problem& problem = site.summary->problems[index];
  std::vector<SizeTimes> all;
  for (size_t m = 0; m < site.summary->models.size(); ++m) {
    for (const Sample& sample : site.summary->models[m].cells[index].samples) {
      if (!sample.best) continue;
      for (const record::Timing& t : site.runs[sample.run].attempts[*sample.best].verdict->timings) {
        if (!t.refusal.empty()) continue;  // figures of another size
        auto found =
            std::ranges::find_if(all, [&](const SizeTimes& s) { return s.size == t.size && s.world == t.world; });
        if (found == all.end()) {
          found = all.insert(
              all.end(), {.size = t.size, .world = t.world, .cost = cost_of(problem, t.size, t.world), .seconds = {}});
        }
        if (t.reference_seconds > 0) found->reference = t.reference_seconds;
        if (t.baseline_seconds > 0) found->baseline = t.baseline_seconds;
        if (t.limit_seconds > 0) found->limit = t.limit_seconds;
        if (t.seconds > 0) found->seconds[m].push_back(t.seconds);
      }
    }
  }
  for (SizeTimes& times : all) {
    for (auto& [model, seconds] : times.seconds) std::ranges::sort(seconds);
  }
  std::ranges::sort(all, {},
                    [](const SizeTimes& s) { return std::tuple(s.cost ? s.cost->link_bytes : 0, s.world, s.size); });
  return all;
}

double median(const std::vector<double>& sorted) {
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Html time_row(std::string_view kind, std::string_view name, double seconds, double most, const SizeTimes& times,
              std::string_view spread = {}) {
  return html(
      "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"num\">{}<small>{}</small></td><td class=\"num\">{}</td>"
      "<td class=\"num\">{}</td><td class=\"wide\"><span class=\"tbar\" style=\"width:{:.2f}%\"></span></td></tr>\n",
      kind, name, time_text(seconds), spread,
      times.yardstick() > 0 ? ratio_text(times.yardstick() / seconds) : std::string(kNothing),
      times.limit > 0 ? percent_text(times.limit / seconds) : std::string(kNothing), 100 * seconds / most);
}

Html times_table(const Summary& summary, const SizeTimes& times) {
  double most = std::max({times.reference, times.baseline, times.limit});
  for (const auto& [model, seconds] : times.seconds) most = std::max(most, median(seconds));
  Html rows;
  if (times.limit > 0) rows += time_row("limit", "Hardware’s limit", times.limit, most, times);
  if (times.reference > 0) rows += time_row("reference", "Reference", times.reference, most, times);
  if (times.baseline > 0) rows += time_row("baseline", "Baseline", times.baseline, most, times);
  for (const auto& [model, seconds] : times.seconds) {
    const std::string spread =
        seconds.size() > 1 ? fmt::format("{} – {}", time_text(seconds.front()), time_text(seconds.back())) : "";
    rows += time_row("", summary.models[model].label, median(seconds), most, times, spread);
  }
  std::string about;
  if (times.cost != nullptr) {
    about = fmt::format(
        "{} over the links, {} of memory{}", bytes_text(times.cost->link_bytes), bytes_text(times.cost->memory_bytes),
        times.cost->flops > 0 ? fmt::format(", {} operations", count_text(static_cast<uint64_t>(times.cost->flops)))
                              : "");
  }
  return html(
      "<div class=\"times\"><h3>Size {}, {} <small>{}</small></h3>\n"
      "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Solution</th><th scope=\"col\" class=\"num\">Time</th>"
      "<th scope=\"col\" class=\"num\">Speed</th><th scope=\"col\" class=\"num\">Of the limit</th>"
      "<th scope=\"col\" class=\"wide\"></th></tr></thead><tbody>{}</tbody></table></div></div>\n",
      times.size, plural(static_cast<uint64_t>(times.world), "rank", "ranks"), about, rows);
}

// Points of both plots: seconds over bytes, and bytes per second over bytes.
std::string curve_data(const Summary& summary, const std::vector<SizeTimes>& all) {
  Json data = Json::array();
  for (const SizeTimes& times : all) {
    if (times.cost == nullptr || times.cost->link_bytes <= 0) continue;
    const double bytes = times.cost->link_bytes;
    const auto add = [&](std::string_view series, std::string_view kind, double low, double middle, double high) {
      data.push_back({{"series", series},
                      {"kind", kind},
                      {"size", times.size},
                      {"bytes", bytes},
                      {"seconds", middle},
                      {"low", low},
                      {"high", high},
                      {"rate", bytes / middle},
                      {"rate_low", bytes / high},
                      {"rate_high", bytes / low}});
    };
    if (times.limit > 0) add("limit", "limit", times.limit, times.limit, times.limit);
    if (times.reference > 0) add("reference", "reference", times.reference, times.reference, times.reference);
    if (times.baseline > 0) add("baseline", "baseline", times.baseline, times.baseline, times.baseline);
    for (const auto& [model, seconds] : times.seconds)
      add(summary.models[model].label, "model", seconds.front(), median(seconds), seconds.back());
  }
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Html roofline_of(const Site& site, size_t index, const std::vector<SizeTimes>& all) {
  Roofline roofline;
  for (const Model& model : site.summary->models) {
    for (const Sample& sample : model.cells[index].samples) {
      if (sample.best) roofline.set(site.runs[sample.run].attempts[*sample.best].verdict->peaks);
    }
  }
  for (const SizeTimes& times : all) {
    roofline.add("limit", "limit", times.cost, times.limit);
    roofline.add("reference", "reference", times.cost, times.reference);
    roofline.add("baseline", "baseline", times.cost, times.baseline);
    for (const auto& [model, seconds] : times.seconds)
      roofline.add(site.summary->models[model].label, "model", times.cost, median(seconds));
  }
  return roofline.figure();
}

Html times_section(const Site& site, size_t index) {
  const auto all = times_of(site, index);
  if (all.empty()) {
    return html(
        "<section id=\"times\"><h2>Time</h2>\n<p class=\"muted\">No passed sample has been timed.</p></section>\n");
  }
  Html tables, plots;
  for (const SizeTimes& times : all) tables += times_table(*site.summary, times);
  const auto drawn =
      std::ranges::count_if(all, [](const SizeTimes& s) { return s.cost != nullptr && s.cost->link_bytes > 0; });
  if (drawn >= 2 && site.has_bundles) {
    plots = html(
        "<div class=\"two\"><figure><figcaption>Time against data over the links</figcaption>"
        "<div class=\"plot\" data-plot=\"times\" data-from=\"data-curves\" role=\"img\" aria-label=\"Time against "
        "data, both on logarithmic scales\"></div></figure>"
        "<figure><figcaption>Data per second against data</figcaption>"
        "<div class=\"plot\" data-plot=\"rates\" data-from=\"data-curves\" role=\"img\" aria-label=\"Data per "
        "second against data, with the hardware’s limit\"></div></figure></div>\n{}",
        Html::data("data-curves", curve_data(*site.summary, all)));
  }
  if (site.has_bundles) plots += roofline_of(site, index, all);
  const bool modelled =
      std::ranges::any_of(site.summary->runs, [](const RunFacts& run) { return run.plan.backend == "virtual"; });
  return html(
      "<section id=\"times\"><h2>Time</h2>\n<p class=\"muted\">{}Of each sample that passed, its fastest round; the "
      "median where there are several samples, with the fastest and the slowest. The limit is the time that links and "
      "memory "
      "need at least.</p>\n{}{}</section>\n",
      modelled ? "Modelled times. " : "", plots, tables);
}

Html results(const Site& site, size_t index) {
  const Problem& problem = site.summary->problems[index];
  constexpr size_t kMany = 12;
  Html rows;
  for (const Model& model : site.summary->models) {
    const Cell& cell = model.cells[index];
    Html samples;
    for (const Sample& sample : cell.samples) {
      Html chips;
      for (uint32_t i = 0; i < sample.attempts; ++i) chips += attempt_chip(site, "../", model, problem, sample, i);
      samples += html("<span class=\"rounds\">{}</span>", chips);
    }
    rows += html(
        "<tr id=\"{}\"><th scope=\"row\">{}</th><td class=\"num\" data-label=\"Passed\">{}</td>"
        "<td class=\"num\" data-label=\"Best speed\">{}</td><td class=\"num\" data-label=\"Of the limit\">{}</td>"
        "<td class=\"samples{}\">{}</td></tr>\n",
        model_anchor(model), model.label,
        cell.samples.empty() ? std::string("not tried") : fmt::format("{} of {}", cell.passed, cell.counted),
        cell.best_speed ? ratio_text(*cell.best_speed) : std::string(kNothing),
        cell.sol ? percent_text(*cell.sol) : std::string(kNothing), cell.samples.size() > kMany ? " dense" : "",
        samples);
  }
  return html(
      "<section id=\"results\"><h2>Results</h2>\n<div class=\"scroll\"><table class=\"results\"><thead><tr>"
      "<th scope=\"col\">Model</th><th scope=\"col\" class=\"num\">Passed</th><th scope=\"col\" class=\"num\">Best "
      "speed</th><th scope=\"col\" class=\"num\">Of the limit</th><th scope=\"col\">Samples and their "
      "rounds</th></tr></thead><tbody>\n{}</tbody></table></div></section>\n",
      rows);
}

// Beside the modelled times, in a table of its own.
Html measured(const Site& site, size_t index) {
  Html rows;
  for (const MeasuredTime& m : site.summary->measured) {
    if (m.problem != site.summary->problems[index].name) continue;
    const auto us = [](double value) { return value > 0 ? fmt::format("{:.1f}", value) : std::string(kNothing); };
    rows += html(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{} × {}</td><td>{}</td><td class=\"num\">{}</td>"
        "<td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>\n",
        m.size, m.label.empty() ? m.solution : m.label, m.world, m.gpu, m.right ? "yes" : "no", us(m.us),
        m.us > 0 ? fmt::format("{:.1f}–{:.1f}", m.low, m.high) : std::string(kNothing), us(m.modelled_us),
        m.outcome.empty() ? std::string(kNothing) : m.outcome);
  }
  if (rows.empty()) return {};
  return html(
      "<section id=\"measured\"><h2>Measured, self-reported</h2>\n<p class=\"muted\">Microseconds of one call on "
      "users’ "
      "GPUs, beside the modelled time and the verdict of the same code. Not seen by a judge, and part of no "
      "score.</p>\n"
      "<div class=\"scroll\"><table class=\"small\"><thead><tr><th scope=\"col\">Size</th>"
      "<th scope=\"col\">Solution</th><th scope=\"col\">GPUs</th><th scope=\"col\">Right</th>"
      "<th scope=\"col\" class=\"num\">Measured</th><th scope=\"col\" class=\"num\">Low–high</th>"
      "<th scope=\"col\" class=\"num\">Modelled</th><th scope=\"col\">Verdict</th></tr></thead><tbody>\n{}</tbody>"
      "</table></div></section>\n",
      rows);
}

Html sizes_table(const Problem& problem) {
  if (problem.sizes.empty()) return {};
  Html head, rows;
  for (const auto& [name, value] : problem.sizes.front().values)
    head += html("<th scope=\"col\" class=\"num\">{}</th>", name);
  for (const ProblemSize& size : problem.sizes) {
    Html cells;
    for (const auto& [name, value] : size.values)
      cells += html("<td class=\"num\">{}</td>", count_text(static_cast<uint64_t>(std::max<int64_t>(value, 0))));
    rows += html("<tr><th scope=\"row\">{}</th>{}<td>{}</td></tr>\n", size.name, cells,
                 size.timed   ? "timed"
                 : size.quick ? "quick"
                              : "");
  }
  return html(
      "<h3>Sizes</h3>\n<div class=\"scroll\"><table class=\"small\"><thead><tr><th scope=\"col\">Size</th>{}"
      "<th scope=\"col\"></th></tr></thead><tbody>{}</tbody></table></div>\n",
      head, rows);
}

// The statement without its title, which is the heading of the page.
std::string_view text_of(const Problem& problem) {
  std::string_view text = problem.statement;
  const std::string title = "# " + problem.title + "\n";
  if (text.starts_with(title)) text.remove_prefix(title.size());
  return text;
}

Html side(const Problem& problem) {
  std::string worlds;
  for (const int world : problem.worlds) worlds += (worlds.empty() ? "" : ", ") + std::to_string(world);
  Html facts;
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) facts += html("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
  };
  fact("Ranks", worlds);
  fact("Platform", problem.platform);
  fact("Why this level", problem.level_reason);
  fact("Source", problem.provenance);
  Html out = html("<dl class=\"facts stacked\">{}</dl>\n", facts);
  if (!problem.args.empty()) out += html("<h3>Arguments of a solution</h3>\n{}", code_block(problem.args));
  out += sizes_table(problem);
  return out;
}

}  // namespace

std::string problem_page(const Site& site, size_t index) {
  const Problem& problem = site.summary->problems[index];
  Page page{.title = fmt::format("{} · {}", problem.name, site.title),
            .root = "../",
            .wants_plots = true,
            .wants_code = true,
            .trail = {{site.title, "index.html"}, {"Problems", "index.html#problems"}}};
  Html tags;
  for (const std::string& tag : problem.tags) tags += html("<span class=\"tag\">{}</span>", tag);
  Html kinds;
  if (problem.level > 0) kinds += html("<span class=\"tag strong\">Level {}</span>", problem.level);
  for (const std::string& kind : {problem.category, problem.library}) {
    if (!kind.empty()) kinds += html("<span class=\"tag strong\">{}</span>", kind);
  }
  const std::string passed = problem.models == 0 ? "no model has been judged"
                                                 : fmt::format("{} of {} passed it", problem.models_passed,
                                                               plural(problem.models, "model", "models"));
  page.body = html(
      "<div class=\"hero\"><p class=\"kicker\">{}</p><h1>{}</h1><p class=\"tags\">{}{}</p>"
      "<p class=\"lead\">{}{}.</p></div>\n",
      problem.name, problem.title.empty() ? problem.name : problem.title, kinds, tags, passed,
      problem.pass_rate ? fmt::format("; on average {} of a model’s samples pass", percent_text(*problem.pass_rate))
                        : "");
  page.body += results(site, index);
  page.body += measured(site, index);
  page.body += times_section(site, index);
  if (problem.known) {
    page.body += html(
        "<section id=\"statement\" class=\"split\"><article class=\"prose\"><h2>The problem</h2>\n{}</article>"
        "<aside>{}</aside></section>\n",
        render_markdown(text_of(problem), 2), side(problem));
  } else {
    page.body += html("<section><p class=\"muted\">The run has no file that describes this problem.</p></section>\n");
  }
  return render(site, page);
}

}  // namespace fb::report::site
