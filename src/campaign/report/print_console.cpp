#include <fmt/format.h>

#include "campaign/report/printers.h"
#include "campaign/report/tables.h"
#include "campaign/report/wording.h"

namespace fb::report {
namespace {

std::string about_run(const RunFacts& run) {
  const record::CampaignPlan& plan = run.plan;
  return fmt::format("{}: {}, {}, {}, {}; prompt {}, {}, {}{}{}", plan.name.empty() ? run.folder : plan.name,
                     number_of(run.attempts, "attempt"), number_of(plan.problems.size(), "problem"),
                     number_of(plan.samples, "sample"), number_of(plan.rounds, "round"), plan.prompt, plan.thoroughness,
                     plan.backend, plan.platform.empty() ? "" : " ", plan.platform);
}

std::string about_model(const Summary& summary, const Model& model, const Look& look) {
  std::string text = styled(model.label, Style::bold, look) + "\n";
  const auto line = [&](std::string_view what, const std::string& words) {
    if (!words.empty()) text += "  " + wrapped(fmt::format("{}: {}", what, words), look.width - 2, 4);
  };
  line(number_of(model.attempts, "attempt"), outcome_words(model));
  line("never passed", never_passed(summary, model));
  line("left out, no attempt counts", excluded_words(summary, model));
  return text;
}

}  // namespace

std::string to_console(const Summary& summary, const ConsoleOptions& options) {
  const Look& look = options.look;
  std::string text;
  for (const RunFacts& run : summary.runs) text += wrapped(about_run(run), look.width, 2);
  if (summary.attempts == 0) return text + "No attempt has finished yet.\n";

  text += "\n" + as_text(leaderboard(summary), look);
  if (const std::string order = order_words(summary); !order.empty()) text += wrapped(order, look.width, 0);
  text += styled(
      wrapped(fmt::format(
                  "Pass×GM: pass rate × GM. GM: geometric mean of reference time / candidate time of "
                  "passed samples. good: passed with a speed of {} or more. sol: share of the hardware's limit. a–b: "
                  "95 % interval.",
                  summary.options.good),
              look.width, 0),
      Style::dim, look);
  for (const NamedTable& named : breakdowns(summary)) {
    text += "\n" + styled(named.title, Style::bold, look) + "\n";
    text += styled(wrapped(named.about, look.width, 0), Style::dim, look) + as_text_in_parts(named.table, 1, look);
  }
  if (const NamedTable measured = measured_table(summary); !measured.table.rows.empty()) {
    text += "\n" + styled(measured.title, Style::bold, look) + "\n";
    text += styled(wrapped(measured.about, look.width, 0), Style::dim, look) + as_text(measured.table, look);
  }
  if (options.matrix) {
    text += "\n" + styled("Problems", Style::bold, look) + "\n";
    text += styled(wrapped("Speed of passed samples (and their number), or the best outcome.", look.width, 0),
                   Style::dim, look) +
            as_text_in_parts(matrix(summary), 2, look);
  }
  text += "\n";
  for (const Model& model : summary.models) text += about_model(summary, model, look);
  if (!summary.notes.empty()) text += "\n";
  for (const std::string& note : summary.notes) text += "- " + wrapped(note, look.width - 2, 2);
  return text;
}

}  // namespace fb::report
