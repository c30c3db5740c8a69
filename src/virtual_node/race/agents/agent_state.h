#pragma once

// The state of running agents: operations, blocks, warps, clusters, and the clocks of their barriers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/clocks/sync_clock.h"
#include "virtual_node/race/shadow/flag.h"
#include "virtual_node/race/shadow/shadow.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/warp.h"

namespace fb::race {

// StaleValue::published of writes that strong loads have read, until the reader releases.
using ObservedWrites = std::vector<std::shared_ptr<bool>>;
void publish(ObservedWrites& observed);

struct OperationState {
  uint32_t number = 0;
  BlockId block = 0;               // for its own accesses; 0: it has made none
  ClockRef incoming;               // its clock when it begins
  uint32_t covered_operation = 0;  // an operation that `incoming` covers as a whole; 0: none found yet
  ClockRef outgoing;               // the join of the clocks of its warps that have exited
  ClockRef last_joined;            // the last clock that was joined into it
  ObservedWrites observed;         // by warps that have exited
};

// A strong load that has read a release, until a fence turns it into an acquire.
struct PendingAcquire {
  Mask lanes = 0;
  const void* flag_line = nullptr;
  uint32_t flag_offset = 0;
  Site site = 0;
  Releases releases;
  std::vector<uint64_t> edges;  // SyncEdge::number of each release
};

// A clock of some lanes of a warp only.
struct LaneClock {
  Mask lanes = 0;
  SyncClock clock;
};

struct FenceRecord {
  Mask lanes = 0;
  Scope scope = Scope::none;
  Site site = 0;
  ReleaseClock clock;
};

struct BlockState;

struct WarpState {
  BlockState* block = nullptr;
  simt::Warp* warp = nullptr;
  uint16_t index = 0;
  Site first_site = 0;
  const SiteTraits* traits = nullptr;  // of the instructions of its program, by Inst::origin
  bool exited = false;
  SyncClock clock;                     // of all lanes
  Epoch base = 0;                      // up to here, every lane's accesses happen before every lane's next one
  std::vector<LaneClock> lane_clocks;  // what only some lanes have acquired besides
  std::vector<FenceRecord> fences;     // the last of each scope
  std::vector<PendingAcquire> pending;
  std::vector<LaneClock> pending_barriers;  // of relaxed waits, until a fence
  Mask arrived = 0;                         // lanes that have arrived at bar.warp.sync
  ObservedWrites observed;

  Mask live() const { return warp->present() & ~warp->exited(); }

  // These lanes acquire `acquired`.
  void acquire(Mask lanes, const SyncClock& acquired, ClockJoiner& joiner);
  // The same, where the warp's clock is known not to cover it.
  void acquire_new(Mask lanes, const SyncClock& acquired, ClockJoiner& joiner);
  SyncClock clock_of(Mask lanes, ClockJoiner& joiner) const;
  // A release that each of these lanes makes by itself: carries what all of them have acquired.
  ReleaseClock make_release(Mask lanes, ClockJoiner& joiner) const;
  // One that they make together: carries what any of them has acquired.
  ReleaseClock make_joint_release(Mask lanes, ClockJoiner& joiner) const;
  // A barrier of all lanes of the warp: each acquires from every other.
  void converge(ClockJoiner& joiner);

  // Releases that lanes have acquired recently: a polling loop acquires the same one again and again.
  struct RecentAcquire {
    BlockId block = 0;
    uint16_t warp = 0;
    Mask of = 0;
    Epoch epoch = 0;
    Mask by = 0;
    ClockRef merged;  // of a release that stands for several: its clock
  };
  static constexpr size_t kRecent = 32;
  RecentAcquire recent[kRecent];
  size_t next_recent = 0;

  bool has_acquired(const Release& release, Mask by) const {
    const ReleaseClock& c = release.clock;
    return std::ranges::any_of(recent, [&](const RecentAcquire& a) {
      return a.block == c.block && a.epoch == c.lane_epoch && a.warp == c.warp && a.of == c.lanes &&
             (by & ~a.by) == 0 && a.merged == (release.merged ? c.clock.all : nullptr);
    });
  }
  void note_acquired(const Release& release, Mask by) {
    const ReleaseClock& c = release.clock;
    recent[next_recent++ % kRecent] = {c.block,      c.warp, c.lanes,
                                       c.lane_epoch, by,     release.merged ? c.clock.all : nullptr};
  }

  // Warps that this warp's clock was found to cover, direct-mapped: most queries repeat.
  struct Covered {
    BlockId block = 0;
    uint16_t warp = 0;
    Epoch epoch = 0;
  };
  static constexpr size_t kCovered = 16;
  Covered covered[kCovered];
};

// The clock of a barrier that is filling up, joined from all that arrive.
struct BarrierClock {
  SyncClock clock;
  SyncClock last;  // of the warp that arrived last
  std::vector<Entry> arrived;
  uint64_t phase = 0;
  bool complete = false;
  bool passed = false;  // a warp has arrived and does not wait
};

// An asynchronous copy that was issued and is not complete.
struct AsyncIssue {
  BlockId block = 0;
  uint16_t warp = 0;  // from 1
  Mask lanes = 0;
  Epoch epoch = 0;
};

struct ClusterState {
  uint64_t number = 0;
  uint32_t blocks = 0;
  BarrierClock phases[2];
};

struct BlockState {
  BlockId id = 0;
  StreamEpoch stream_epoch;  // of its operation
  simt::Block* block = nullptr;
  OperationState* operation = nullptr;
  Epoch epoch = 1;
  Epoch base = 0;         // up to here, every warp's accesses happen before every warp's next one
  Epoch async_epoch = 1;  // of its copies
  std::vector<std::unique_ptr<WarpState>> warps;
  uint32_t running_warps = 0;
  std::unique_ptr<Shadow> shared;
  BarrierClock barriers[16];
  SyncClock sc;                                          // left by fence.sc of this block
  std::unordered_map<uint32_t, BarrierClock> mbarriers;  // by offset in shared memory
  std::unordered_map<uint64_t, AsyncIssue> copies;       // by AsyncCopy::sequence
  // Epochs of the commits of each lane of each warp, for the groups that may still be waited for.
  std::unordered_map<uint32_t, std::deque<Epoch>> commits;
  std::unique_ptr<ClusterState> own_cluster;  // for cluster barriers of a block that was launched without a cluster
};

}  // namespace fb::race
