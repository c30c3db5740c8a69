#include "campaign/report/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/report/wording.h"

namespace fb::report {
namespace {

// "What: alpha 3, beta 1."
void add(Summary& summary, std::string_view what, uint32_t (*count)(const Model&)) {
  std::vector<std::string> parts;
  for (const Model& model : summary.models) {
    if (count(model) > 0) parts.push_back(fmt::format("{} {}", model.label, count(model)));
  }
  if (!parts.empty()) summary.notes.push_back(fmt::format("{}: {}.", what, fmt::join(parts, ", ")));
}

}  // namespace

void add_notes(std::span<const record::Run> runs, Summary& summary) {
  const auto excluded_of = [](const Model& model) {
    std::vector<size_t> problems;
    for (const Excluded& e : model.excluded) problems.push_back(e.problem);
    return problems;
  };
  for (const Model& model : summary.models) {
    if (excluded_of(model) != excluded_of(summary.models.front())) {
      summary.notes.emplace_back("Models were scored on different problems: see the problems that were left out.");
      break;
    }
  }
  add(summary, "Samples without a pass and with fewer rounds than planned, which count as not passed",
      [](const Model& m) { return m.cut_short; });
  add(summary, "Samples that passed without a speed", [](const Model& m) { return m.scores.unscored; });
  add(summary, "Calls with an unknown price, so that prices are lower bounds",
      [](const Model& m) { return m.price.without_price; });
  add(summary, "Calls that ended without a known answer and may have been paid for",
      [](const Model& m) { return m.price.lost_tries; });
  size_t unsafe = 0;
  for (const record::Run& run : runs)
    unsafe += static_cast<size_t>(std::ranges::count_if(
        run.attempts, [](const record::Attempt& a) { return a.verdict && a.verdict->sandbox == "none"; }));
  const bool modelled = std::ranges::any_of(runs, [](const record::Run& run) {
    return std::ranges::any_of(run.attempts,
                               [](const record::Attempt& a) { return a.verdict && a.verdict->speed_range.known(); });
  });
  if (modelled)
    summary.notes.emplace_back(
        "Speeds are modelled: intervals include the uncertainty of the platform's constants, and models with "
        "overlapping intervals are not ordered.");
  if (unsafe > 0)
    summary.notes.push_back(fmt::format("{} given without a sandbox and can't be trusted.",
                                        number_of(unsafe, "verdict") + (unsafe == 1 ? " was" : " were")));
}

}  // namespace fb::report
