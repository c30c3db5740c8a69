#include "campaign/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "campaign/report/wording.h"

namespace fb::report {
namespace {

const Column kModelColumn{.title = "model", .right = false, .may_shrink = true};

Table groups_table(const Summary& summary, std::vector<Group> Model::* groups, std::string_view prefix) {
  Table table{.columns = {kModelColumn}, .rows = {}};
  for (const Group& group : summary.models.front().*groups)
    table.columns.push_back({.title = std::string(prefix) + group.name});
  for (const Model& model : summary.models) {
    auto& row = table.rows.emplace_back();
    row.push_back(model.label);
    for (const Group& group : model.*groups) {
      const Scores& scores = group.scores;
      row.push_back(scores.problems == 0 ? std::string(kNothing)
                                         : fmt::format("{} of {}", percent(scores.pass_rate.value), scores.problems));
    }
  }
  return table;
}

// Keeps the table readable: the powers of two and the largest k.
std::vector<size_t> shown_ks(const Model& model) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < model.pass_at.size(); ++i) {
    const uint32_t k = model.pass_at[i].k;
    if (model.pass_at.size() <= 6 || (k & (k - 1)) == 0 || i + 1 == model.pass_at.size()) shown.push_back(i);
  }
  return shown;
}

Table pass_at_table(const Summary& summary) {
  Table table{.columns = {kModelColumn}, .rows = {}};
  const std::vector<size_t> shown = shown_ks(summary.models.front());
  for (const size_t i : shown)
    table.columns.push_back({.title = fmt::format("pass@{}", summary.models.front().pass_at[i].k)});
  for (const Model& model : summary.models) {
    auto& row = table.rows.emplace_back();
    row.push_back(model.label);
    for (const size_t i : shown) row.push_back(percent_with_interval(model.pass_at[i].rate));
  }
  return table;
}

size_t most_rounds(const Summary& summary) {
  size_t rounds = 0;
  for (const Model& model : summary.models) rounds = std::max(rounds, model.by_round.size());
  return rounds;
}

Table rounds_table(const Summary& summary) {
  Table table{.columns = {kModelColumn}, .rows = {}};
  const size_t rounds = most_rounds(summary);
  for (size_t round = 1; round <= rounds; ++round) table.columns.push_back({.title = fmt::format("round {}", round)});
  for (const Model& model : summary.models) {
    auto& row = table.rows.emplace_back();
    row.push_back(model.label);
    for (size_t k = 0; k < rounds; ++k) {
      if (k >= model.by_round.size()) {
        row.emplace_back(kNothing);
      } else if (k == 0) {
        row.push_back(percent(model.by_round[k].pass_rate.value));
      } else {
        row.push_back(
            fmt::format("{} +{:.1f}", percent(model.by_round[k].pass_rate.value), model.by_round[k].gain * 100));
      }
    }
  }
  return table;
}

Table tiers_table(const Summary& summary) {
  Table table{.columns = {kModelColumn}, .rows = {}};
  for (const std::string_view tier : kTiers) {
    if (tier != "not_passed") table.columns.push_back({.title = std::string(tier)});
  }
  for (const Model& model : summary.models) {
    auto& row = table.rows.emplace_back();
    row.push_back(model.label);
    for (const Tier& tier : model.tiers) {
      if (tier.name != "not_passed") row.push_back(percent(tier.share));
    }
  }
  return table;
}

}  // namespace

Table leaderboard(const Summary& summary) {
  Table table{.columns = {{.title = "#"},
                          kModelColumn,
                          {.title = "Pass×GM"},
                          {.title = "pass rate"},
                          {.title = "good", .keep = 90},
                          {.title = "GM", .keep = 95},
                          {.title = "sol", .keep = 70},
                          {.title = "$/problem", .keep = 80},
                          {.title = "$/pass", .keep = 60},
                          {.title = "problems", .keep = 50},
                          {.title = "samples", .keep = 40},
                          {.title = "attempts", .keep = 30},
                          {.title = "tokens", .keep = 20},
                          {.title = "$ in all", .keep = 10}},
              .rows = {}};
  for (const Model& model : summary.models) {
    const Scores& s = model.scores;
    table.rows.push_back({fmt::format("{}", model.rank), model.label, ratio_with_interval(s.pass_gm),
                          percent_with_interval(s.pass_rate), percent(s.pass_good.value), ratio(s.gm_speedup.value),
                          ratio(s.sol.value), dollars(model.price, model.price.usd_per_problem),
                          dollars(model.price, model.price.usd_per_pass), fmt::format("{}", s.problems),
                          fmt::format("{}", s.samples), fmt::format("{}", model.attempts), tokens(model.price.tokens),
                          dollars(model.price, model.price.usd)});
  }
  return table;
}

NamedTable measured_table(const Summary& summary) {
  NamedTable named{.title = "Measured, self-reported",
                   .about =
                       "Microseconds of one call on users' GPUs, beside the modelled time and the verdict of the same "
                       "code. Not seen by a judge, and part of no score.",
                   .table = {.columns = {{.title = "problem", .right = false},
                                         {.title = "size", .right = false},
                                         {.title = "solution", .right = false},
                                         {.title = "GPUs", .right = false},
                                         {.title = "right", .right = false},
                                         {.title = "measured"},
                                         {.title = "low–high", .keep = 50},
                                         {.title = "modelled"},
                                         {.title = "verdict", .right = false}}}};
  const auto number = [](double us) { return us > 0 ? fmt::format("{:.1f}", us) : std::string(kNothing); };
  for (const MeasuredTime& m : summary.measured) {
    named.table.rows.push_back({m.problem, m.size, m.label.empty() ? m.solution : m.label,
                                fmt::format("{} × {}", m.world, m.gpu), m.right ? "yes" : "no", number(m.us),
                                m.us > 0 ? fmt::format("{:.1f}–{:.1f}", m.low, m.high) : std::string(kNothing),
                                number(m.modelled_us), m.outcome.empty() ? std::string(kNothing) : m.outcome});
  }
  return named;
}

std::vector<NamedTable> breakdowns(const Summary& summary) {
  std::vector<NamedTable> tables;
  if (summary.models.empty()) return tables;
  const Model& first = summary.models.front();
  const auto add_groups = [&](std::string title, std::vector<Group> Model::* groups, std::string_view prefix) {
    if ((first.*groups).size() > 1)
      tables.push_back({std::move(title), "Pass rate, and number of problems.", groups_table(summary, groups, prefix)});
  };
  add_groups("By level", &Model::by_level, "level ");
  add_groups("By category", &Model::by_category, "");
  add_groups("By library", &Model::by_library, "");
  add_groups("By track", &Model::by_track, "");
  add_groups("By parallelism", &Model::by_parallelism, "");
  if (first.pass_at.size() > 1)
    tables.push_back({"pass@k", "The chance that one of k samples passes.", pass_at_table(summary)});
  if (most_rounds(summary) > 1)
    tables.push_back({"By round", "Pass rate after the round, and its gain.", rounds_table(summary)});
  if (std::ranges::any_of(summary.models, [](const Model& m) { return m.scores.gm_speedup.value.has_value(); })) {
    tables.push_back({"Speed of passed samples",
                      fmt::format("Share of all samples. better: {} of the reference's speed and more; on_par: {}; "
                                  "degraded: {}.",
                                  std::max(kBetterSpeed, summary.options.good), summary.options.good,
                                  std::min(kSevereSpeed, summary.options.good)),
                      tiers_table(summary)});
  }
  return tables;
}

Table outcome_table(const Summary& summary) {
  Table table{.columns = {kModelColumn}, .rows = {}};
  std::vector<size_t> seen;
  for (size_t k = 0; k < std::size(kOutcomes); ++k) {
    if (std::ranges::any_of(summary.models, [&](const Model& m) { return m.outcomes[k].attempts > 0; })) {
      seen.push_back(k);
      table.columns.push_back({.title = std::string(kOutcomes[k].name)});
    }
  }
  for (const Model& model : summary.models) {
    auto& row = table.rows.emplace_back();
    row.push_back(model.label);
    for (const size_t k : seen) row.push_back(fmt::format("{}", model.outcomes[k].attempts));
  }
  return table;
}

Table matrix(const Summary& summary) {
  Table table{.columns = {{.title = "problem", .right = false, .may_shrink = true}, {.title = "level"}}, .rows = {}};
  for (const Model& model : summary.models) table.columns.push_back({.title = model.label});
  for (size_t k = 0; k < summary.problems.size(); ++k) {
    const Problem& problem = summary.problems[k];
    auto& row = table.rows.emplace_back();
    row.push_back(problem.name);
    row.push_back(problem.level == 0 ? std::string(kNothing) : fmt::format("{}", problem.level));
    for (const Model& model : summary.models) row.push_back(cell_words(model.cells[k]));
  }
  return table;
}

}  // namespace fb::report
