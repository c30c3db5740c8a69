#pragma once

// Reads of device memory that nothing has written since it was allocated. What such a read returns is not defined, so
// it is reported whether or not the value happened to be harmless in this run.
//
// Only accesses of which no byte was written are reported: right code may read whole vectors whose last elements it
// does not use. Copies may carry such bytes along; what they write counts as written.

#include <set>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/report/report.h"
#include "virtual_node/race/report/report_names.h"

namespace fb::race {

class UninitialisedReads {
 public:
  UninitialisedReads(const Agents& agents, const ReportNames& names) : agents_(agents), names_(names) {}

  // They are looked for from now on.
  void look_for(ReportFn report) { report_ = std::move(report); }
  void stop() { report_ = nullptr; }

  // `segment` is part of the line, and the access reads all of it.
  void check(const AccessContext& access, const Segment& segment, const LineRef& at) {
    if (segment.write || !at.allocation || !at.allocation->fresh || !report_) return;
    report_if_whole(access, segment, at);
  }

 private:
  void report_if_whole(const AccessContext& access, const Segment& segment, const LineRef& at);

  const Agents& agents_;
  const ReportNames& names_;
  ReportFn report_;
  std::set<Site> reported_;  // each instruction once
};

}  // namespace fb::race
