#pragma once

// Weak delivery: older contents are kept for a while, and loads that no write is ordered before may return them.
//
// A load never returns bytes older than its thread has read or written, older than a write that happens before it, or
// older than a write that another agent read with a strong load and then released. So no outcome shows up that the
// model forbids. Load buffering is not modelled.

#include <cstddef>
#include <cstdint>

#include "common/base/rng.h"
#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/happens_before.h"
#include "virtual_node/race/check/old_reads.h"
#include "virtual_node/race/clocks/options.h"
#include "virtual_node/race/shadow/shadow.h"
#include "virtual_node/simt/warp.h"

namespace fb::race {

class StaleValues {
 public:
  StaleValues(const Options& options, const HappensBefore& order, OldReads& old_reads)
      : options_(options), order_(order), old_reads_(old_reads), rng_(options.seed ^ 0x5eed) {}

  bool enabled() const { return on_ && options_.weak_lines != 0; }
  // Off: every load returns the newest bytes. On by default.
  void turn(bool on) { on_ = on; }
  // Before a write: keeps the bytes that it replaces, in a sample of all lines. `releases`: that came with them, where
  // the write ends the flag.
  void keep(const AccessContext& access, Line& line, const LineRef& at, uint32_t begin, uint32_t end,
            ReleasesRef releases);
  // Chooses for each lane of a load the newest or an older value; sets AccessContext::stale.
  void choose(AccessContext& access, Line& line, uint32_t begin, uint32_t end);
  // Lets the load that is about to execute return the values that were chosen.
  void deliver(simt::Warp& w, Mask lanes);

 private:
  const Options& options_;
  const HappensBefore& order_;
  OldReads& old_reads_;
  Rng rng_;
  bool on_ = true;
  uint64_t writes_ = 0;
  const std::byte* old_bytes_[simt::kLanes] = {};
};

}  // namespace fb::race
