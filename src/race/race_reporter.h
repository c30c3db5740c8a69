#pragma once

// Turns an unordered pair of accesses into a report: collects the facts, lets the rules decide, and reports each pair
// of lines once for each class.

#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include "race/access_context.h"
#include "race/happens_before.h"
#include "race/report.h"
#include "race/report_names.h"
#include "race/report_rules.h"
#include "race/sync_state.h"

namespace fb::race {

class RaceReporter {
 public:
  RaceReporter(SyncState& state, const HappensBefore& order, const ReportNames& names, ReportFn report)
      : state_(state), order_(order), names_(names), report_(std::move(report)) {}

  // `earlier` and `access` both touch the byte at `offset` of the line.
  void report(const AccessContext& access, const ShadowCell& earlier, const LineRef& at, uint32_t offset);

 private:
  RaceFacts facts_of(const AccessContext& access, const ShadowCell& earlier, uint32_t offset);
  FlagNames names_of(const SyncEdge& edge) const;

  SyncState& state_;
  const HappensBefore& order_;
  const ReportNames& names_;
  ReportFn report_;
  // Lines of both accesses, in whatever direction between whichever devices.
  std::set<std::tuple<std::string, std::string, RaceClass>> reported_;
  std::set<std::string> signed_;  // kernels whose full signature has been given
};

}  // namespace fb::race
