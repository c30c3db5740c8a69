#pragma once

// The clocks that a synchronisation carries, and how they are joined.

#include <array>
#include <cstdint>

#include "virtual_node/race/clocks/clock.h"
#include "virtual_node/race/clocks/join_memo.h"

namespace fb::race {

// Clocks that travel together.
struct SyncClock {
  ClockRef all;                      // what happened before
  ClockRef async_visible = nullptr;  // of that, what the asynchronous proxy may rely on
  ClockRef seen = nullptr;           // single writes whose values were read
  friend bool operator==(const SyncClock&, const SyncClock&) = default;  // the same objects
};

// The clock of a release: its thread's, and the epochs of its own block, down to the thread itself. Kept in pieces,
// because most releases are never acquired.
struct ReleaseClock {
  SyncClock clock;
  StreamEpoch of;  // the operation to which the block belongs
  BlockId block = 0;
  uint16_t warp = 0;  // from 1
  Mask lanes = 0;
  Epoch block_epoch = 0;  // all warps, up to the last barrier
  Epoch warp_epoch = 0;   // all lanes, up to the last time they converged
  Epoch lane_epoch = 0;   // the thread itself
  friend bool operator==(const ReleaseClock&, const ReleaseClock&) = default;
};

// Joins clocks, with a memo of recent results.
class ClockJoiner {
 public:
  // Either may be null.
  ClockRef join(const ClockRef& a, const ClockRef& b);
  SyncClock join(const SyncClock& a, const SyncClock& b);
  // All of a release as one clock. Clocks above 256 entries are coarsened from threads to whole blocks.
  ClockRef flatten(const ReleaseClock& release);
  // The clocks that an acquire of this release joins.
  SyncClock released(const ReleaseClock& release);
  // How many entries of clocks have been joined so far.
  uint64_t work() const { return work_; }

 private:
  ClockRef compute_flat(const ReleaseClock& release);
  ClockRef compute_join(const ClockRef& a, const ClockRef& b);

  JoinMemo<Clock> clocks_;
  EntriesMemo entries_;
  // Direct-mapped memo of flattened releases; holds references so that pointer equality stays valid.
  struct Flattened {
    ReleaseClock release;
    ClockRef flat;
  };
  std::array<Flattened, 256> flattened_;
  uint64_t work_ = 0;
};

}  // namespace fb::race
