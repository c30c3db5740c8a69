#include <algorithm>
#include <set>

#include "campaign/report/site/pages.h"
#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

// The different values of a setting, in the runs' order: "full", or "full and quick".
template <class Get>
std::string all_of(const Summary& summary, const Get& get) {
  std::vector<std::string> values;
  for (const RunFacts& run : summary.runs) {
    const std::string value = get(run.plan);
    if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : i + 1 == values.size() ? " and " : ", ") + values[i];
  return text;
}

std::string range_text(const Summary& summary, uint32_t record::CampaignPlan::* number) {
  uint32_t least = UINT32_MAX, most = 0;
  for (const RunFacts& run : summary.runs) {
    least = std::min(least, run.plan.*number);
    most = std::max(most, run.plan.*number);
  }
  return least >= most ? count_text(most) : fmt::format("{} to {}", least, most);
}

// Sentences that say what was run.
Html story(const Summary& summary) {
  using Plan = record::CampaignPlan;
  const std::string samples = range_text(summary, &Plan::samples), rounds = range_text(summary, &Plan::rounds);
  Html text =
      html("<b>{}</b> tried <b>{}</b>: {} of each with up to {} of feedback, <b>{}</b> in all. ",
           plural(summary.models.size(), "model", "models"), plural(summary.problems.size(), "problem", "problems"),
           samples + (samples == "1" ? " sample" : " samples"), rounds + (rounds == "1" ? " round" : " rounds"),
           plural(summary.attempts, "attempt", "attempts"));
  const std::string packs =
      all_of(summary, [](const Plan& p) { return p.pack.empty() ? "" : p.pack + " " + p.pack_version; });
  if (!packs.empty()) text += html("The problems are those of {}. ", packs);
  const std::string platforms = all_of(summary, [](const Plan& p) { return p.platform; });
  const std::string versions = all_of(summary, [](const Plan& p) { return p.version; });
  const bool some_virtual =
      std::ranges::any_of(summary.runs, [](const RunFacts& r) { return r.plan.backend == "virtual"; });
  const bool some_real =
      std::ranges::any_of(summary.runs, [](const RunFacts& r) { return r.plan.backend != "virtual"; });
  text += html("FabricBench{}{} judged them {}{}{}{}. ", versions.empty() ? "" : " ", versions,
               some_virtual ? "on a virtual node" : "on real GPUs",
               some_virtual && some_real ? " and on real GPUs" : "", platforms.empty() ? "" : ", ", platforms);
  if (some_virtual) text += html("<b>Times are modelled</b>, not measured on GPUs.");
  return html("<p class=\"lead\">{}</p>\n", text);
}

Html tile(std::string_view value, std::string_view label, std::string_view more = {}) {
  return html("<div class=\"tile\"><b>{}</b><span>{}</span><small>{}</small></div>\n", value, label, more);
}

Html tiles(const Summary& summary) {
  uint32_t solved = 0;
  for (const Problem& problem : summary.problems) solved += problem.models_passed > 0;
  uint32_t samples = 0, passed = 0, without_price = 0;
  double usd = 0;
  bool priced = false;
  for (const Model& model : summary.models) {
    samples += model.scores.samples;
    passed += model.scores.samples_passed;
    usd += model.price.usd.value_or(0);
    priced = priced || model.price.usd;
    without_price += model.price.without_price;
  }
  Html out;
  if (!summary.models.empty()) {
    const Model& best = summary.models.front();
    const bool by_pass = summary.ranked_by == "pass_rate";
    const Estimate& figure = by_pass ? best.scores.pass_rate : best.scores.pass_gm;
    if (figure.value) {
      out += html("<div class=\"tile best\"><b>{}</b><span>leads with {} {}</span><small>{}</small></div>\n",
                  best.label, by_pass ? "a pass rate of" : "Pass×GM",
                  by_pass ? percent_text(*figure.value) : ratio_text(*figure.value),
                  best.rank_to > 1 ? "not clearly: intervals overlap" : "");
    }
  }
  out += tile(fmt::format("{} of {}", solved, summary.problems.size()), "problems solved by some model");
  out += tile(fmt::format("{} of {}", count_text(passed), count_text(samples)), "samples passed");
  if (priced) {
    out += tile((without_price > 0 ? "≥ " : "") + usd_text(usd), "for all answers",
                without_price > 0 ? fmt::format("{} calls have no known price", count_text(without_price)) : "");
  }
  return html("<div class=\"tiles\">{}</div>\n", out);
}

Html notes(const Site& site) {
  const Summary& summary = *site.summary;
  Html items;
  for (const std::string& note : summary.notes) items += html("<li>{}</li>\n", note);
  for (const Model& model : summary.models) {
    if (model.left_out > 0) {
      items += html("<li>{}: {} not counted, because the failure was not the model’s.</li>\n", model.label,
                    plural(model.left_out, "attempt is", "attempts are"));
    }
    if (model.excluded.empty()) continue;
    std::string names;
    for (const Excluded& excluded : model.excluded) {
      names += (names.empty() ? "" : ", ") +
               fmt::format("{} ({})", summary.problems[excluded.problem].name, excluded.reason);
    }
    items += html("<li>{}: {} left out: {}.</li>\n", model.label,
                  plural(model.excluded.size(), "problem is", "problems are"), names);
  }
  if (site.attempt_pages > 0) {
    items += html(
        "<li>There are more attempts than pages for them: of {} attempts, {} have a page of their own (the best, "
        "the first and the last of each model and problem come first).</li>\n",
        count_text(summary.attempts), count_text(site.paged.size()));
  }
  return items.empty() ? Html()
                       : html("<section id=\"notes\"><h2>To know</h2>\n<ul class=\"notes\">{}</ul></section>\n", items);
}

Html how(const Summary& summary) {
  using Plan = record::CampaignPlan;
  Html rows;
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) rows += html("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  };
  row("Campaign", all_of(summary, [](const Plan& p) { return p.name; }));
  row("Started", all_of(summary, [](const Plan& p) { return p.created; }));
  row("Prompt", all_of(summary, [](const Plan& p) { return p.prompt; }));
  row("Judgements", all_of(summary, [](const Plan& p) { return p.thoroughness; }));
  row("Rounds for speed",
      all_of(summary, [](const Plan& p) { return p.speed_rounds > 0 ? std::to_string(p.speed_rounds) : ""; }));
  row("Backend", all_of(summary, [](const Plan& p) { return p.backend; }));
  row("Platform", all_of(summary, [](const Plan& p) { return p.platform; }));
  row("Problems", all_of(summary, [](const Plan& p) { return p.pack + " " + p.pack_version; }));
  row("FabricBench", all_of(summary, [](const Plan& p) { return p.version; }));
  return html("<section id=\"settings\"><h2>How it was run</h2>\n<dl class=\"facts\">{}</dl></section>\n", rows);
}

}  // namespace

std::string index_page(const Site& site) {
  const Summary& summary = *site.summary;
  Page page{.title = site.title + " · FabricBench", .wants_plots = true};
  page.body = html(
      "<div class=\"hero\"><p class=\"kicker\">Is this multi-GPU code right, and is it fast?</p>"
      "<h1>{}</h1>\n{}</div>\n",
      site.title, story(summary));
  page.body += tiles(summary);
  page.body += leaderboard(site);
  page.body += outcome_bars(site);
  page.body += heat_map(site);
  page.body += rounds_and_cost(site);
  page.body += breakdowns(site);
  page.body += notes(site);
  page.body += how(summary);
  return render(site, page);
}

}  // namespace fb::report::site
