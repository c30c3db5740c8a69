#pragma once

// Checks an access against the last conflicting ones in shadow memory, and records it there.

#include <cstdint>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/happens_before.h"
#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/check/access_history.h"
#include "virtual_node/race/check/stale_values.h"
#include "virtual_node/race/check/uninitialised_reads.h"
#include "virtual_node/race/clocks/options.h"
#include "virtual_node/race/report/race_reporter.h"

namespace fb::race {

class AccessCheck {
 public:
  AccessCheck(const Options& options, const HappensBefore& order, StaleValues& stale, RaceReporter& reporter,
              AccessHistory& history, UninitialisedReads& unwritten)
      : strict_(options.strict),
        allow_volatile_(options.allow_volatile),
        sanitizer_(options.sanitizer),
        order_(order),
        stale_(stale),
        reporter_(reporter),
        history_(history),
        unwritten_(unwritten) {}

  // `access.cell.lane` is the lane of the first byte of the range.
  void apply(AccessContext& access, const ShadowRange& range, uint64_t bytes);
  // Reports two lanes of one store that write the same bytes: the result is undefined.
  void check_overlapping_lanes(const AccessContext& store, const simt::Access& access, ShadowMemory& memory);
  // How much has been compared so far: some 16 nanoseconds each.
  uint64_t work() const { return work_; }
  // How many accesses were looked at: those of threads are counted by instruction, ranges of bytes by apply().
  void count(int accesses) { accesses_ += static_cast<uint64_t>(accesses); }
  uint64_t accesses() const { return accesses_; }

 private:
  bool is_bulk(const AccessContext& access, const ShadowRange& range) const;
  void apply_to_page(AccessContext& access, const ShadowRange& range, uint64_t done);
  bool is_ordered_before(const AccessContext& access, const Segment& segment) const;
  void apply_to_line(AccessContext& access, Line& line, const LineRef& at, uint32_t begin, uint32_t end);
  void check_segment(AccessContext& access, const Segment& segment, const LineRef& at);
  void check_pair(const AccessContext& access, const ShadowCell& earlier, const Segment& segment, const LineRef& at);
  void record(const AccessContext& access, Segment& segment);

  bool strict_, allow_volatile_, sanitizer_;
  const HappensBefore& order_;
  StaleValues& stale_;
  RaceReporter& reporter_;
  AccessHistory& history_;
  UninitialisedReads& unwritten_;
  uint64_t work_ = 0, accesses_ = 0;
};

}  // namespace fb::race
