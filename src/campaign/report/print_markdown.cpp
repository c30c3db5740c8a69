#include <fmt/format.h>

#include "campaign/report/printers.h"
#include "campaign/report/tables.h"
#include "campaign/report/wording.h"

namespace fb::report {
namespace {

Table runs_table(const Summary& summary) {
  Table table{.columns = {{.title = "run", .right = false},
                          {.title = "created", .right = false},
                          {.title = "pack", .right = false},
                          {.title = "problems"},
                          {.title = "samples"},
                          {.title = "rounds"},
                          {.title = "prompt", .right = false},
                          {.title = "judged", .right = false},
                          {.title = "attempts"}},
              .rows = {}};
  for (const RunFacts& run : summary.runs) {
    const record::CampaignPlan& plan = run.plan;
    table.rows.push_back({plan.name.empty() ? run.folder : plan.name, plan.created,
                          fmt::format("{} {}", plan.pack, plan.pack_version), fmt::format("{}", plan.problems.size()),
                          fmt::format("{}", plan.samples),
                          plan.speed_rounds == 0 ? fmt::format("{}", plan.rounds)
                                                 : fmt::format("{} + {} for speed", plan.rounds, plan.speed_rounds),
                          plan.prompt, fmt::format("{}, {} {}", plan.thoroughness, plan.backend, plan.platform),
                          fmt::format("{}", run.attempts)});
  }
  return table;
}

}  // namespace

std::string to_markdown(const Summary& summary) {
  std::string text = "# FabricBench report\n\n" + as_markdown(runs_table(summary)) + "\n";
  if (summary.attempts == 0) return text + "No attempt has finished yet.\n";

  text += "## Leaderboard\n\n" + as_markdown(leaderboard(summary)) + "\n";
  if (const std::string order = order_words(summary); !order.empty()) text += order + "\n\n";
  text += fmt::format(
      "Pass×GM: pass rate × GM. GM: geometric mean of reference time / candidate time of passed samples. good "
      "(PASS+Good): "
      "passed with a speed of {} or more. sol: share of the hardware's limit. a–b: 95 % interval.\n\n",
      summary.options.good);
  for (const NamedTable& named : breakdowns(summary))
    text += fmt::format("## {}\n\n{}\n\n{}\n", named.title, named.about, as_markdown(named.table));
  if (const NamedTable measured = measured_table(summary); !measured.table.rows.empty())
    text += fmt::format("## {}\n\n{}\n\n{}\n", measured.title, measured.about, as_markdown(measured.table));
  text += fmt::format("## Outcomes\n\nAttempts.\n\n{}\n", as_markdown(outcome_table(summary)));
  text += fmt::format("## Problems\n\nSpeed of passed samples (and their number), or the best outcome.\n\n{}\n",
                      as_markdown(matrix(summary)));
  std::string left_out;
  for (const Model& model : summary.models) {
    if (!model.excluded.empty()) left_out += fmt::format("- {}: {}\n", model.label, excluded_words(summary, model));
  }
  if (!left_out.empty())
    text += fmt::format("## Left out\n\nProblems without an attempt that counts.\n\n{}\n", left_out);
  if (!summary.notes.empty()) {
    text += "## Notes\n\n";
    for (const std::string& note : summary.notes) text += fmt::format("- {}\n", note);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace fb::report
