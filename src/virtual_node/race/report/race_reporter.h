#pragma once

// Turns an unordered pair of accesses into a report: collects the facts, lets the rules decide, and reports each pair
// of lines once for each class. Further races of a pair are counted.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/happens_before.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/clocks/options.h"
#include "virtual_node/race/report/report.h"
#include "virtual_node/race/report/report_names.h"
#include "virtual_node/race/report/report_rules.h"

namespace fb::race {

class RaceReporter {
 public:
  RaceReporter(const Options& options, SyncState& state, const HappensBefore& order, const ReportNames& names,
               ReportFn report)
      : options_(options), state_(state), order_(order), names_(names), report_(std::move(report)) {}

  // `earlier` and `access` both touch the byte at `offset` of the line.
  void report(const AccessContext& access, const ShadowCell& earlier, const LineRef& at, uint32_t offset);
  // The races at the lines of each report, by Report::number, that were not reported again.
  const std::vector<uint64_t>& further() const { return further_; }

 private:
  // Analyses of one pair of instructions: after these, further races of the pair count as the last.
  static constexpr uint32_t kMostAnalyses = 16;
  struct Known {
    uint32_t analyses = 0, last = 0;
  };

  RaceFacts facts_of(const AccessContext& access, const ShadowCell& earlier, uint32_t offset);
  FlagNames names_of(const SyncEdge& edge) const;
  // "file.cu:12", or the name of the operation.
  std::string line_of(const ShadowCell& cell) const;

  uint64_t pair_of(const ShadowCell& earlier, const ShadowCell& later, bool same_value) const;
  std::string text_of(const RaceFacts& f, const ReportRule& rule, RaceClass kind, bool same_value, const LineRef& at,
                      uint32_t offset);

  const Options& options_;
  SyncState& state_;
  const HappensBefore& order_;
  const ReportNames& names_;
  ReportFn report_;
  // Lines of both accesses, in whatever direction between whichever devices, and the class → number of the report.
  std::map<std::tuple<std::string, std::string, std::string_view>, uint32_t> reported_;
  std::vector<uint64_t> further_;
  std::unordered_map<uint64_t, Known> known_;  // by pair_of()
  std::set<std::string> signed_;               // kernels whose full signature has been given
};

}  // namespace fb::race
