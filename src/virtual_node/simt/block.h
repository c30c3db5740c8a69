#pragma once

// A thread block: its shared memory, its barriers, its warps; and the grid and cluster it belongs to.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

class Environment;
class TensorMemory;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return static_cast<uint64_t>(x) * y * z; }
};

// One kernel launch: shared by all its blocks.
struct Grid {
  const Program* program = nullptr;
  const FunctionInfo* kernel = nullptr;
  Dim3 grid, block, cluster;
  uint32_t dynamic_shared_bytes = 0;
  bool explicit_cluster = false;
  bool cooperative = false;
  std::vector<std::byte> params;
  mem::Address workspace = 0;  // grid barrier words; 0 unless cooperative (%envreg1, %envreg2)
  uint64_t id = 0;
  bool check_uninitialised_shared = false;
  const mem::FreshBytes* fresh = nullptr;  // what shared memory, local memory and registers begin with; null: zeros
};

class Cluster;

// What a lane does at a barrier: bar.sync waits for all, bar.arrive for its own warp only, bar.red waits and votes.
enum class BarrierUse : uint8_t { wait, pass, vote };

// Executing lanes of one warp that come to a barrier.
struct Arrival {
  BarrierUse use{};
  uint32_t id = 0;
  uint32_t expected = 0;  // threads; 0: all of the block
  Mask lanes = 0;
  Mask votes = 0;  // of these lanes, the ones whose predicate is true
};

// One warp at one barrier.
struct BarrierWarp {
  Mask arrived = 0;  // lanes, in this phase
  Mask waiting = 0;  // of these, the ones that wait for the phase to complete
  Mask passing = 0;  // of these, the ones that wait for the rest of their warp
  // bar.red: released lanes run their instruction again to read the result. It is kept by warp, because others may
  // complete the next phase before a slow warp has read this one's.
  Mask unread = 0;
  uint32_t votes = 0, voters = 0;
};

// Barrier number 0…15 of a block. It counts warps, as PTX says: an instruction "causes executing thread to wait for all
// non-exited threads from its warp and marks warps' arrival at barrier".
struct BlockBarrier {
  uint32_t expected_threads = 0;   // 0: all of the block
  bool in_use = false;             // a phase has begun
  bool votes_taken = false;        // … with bar.red
  uint32_t full = 0;               // warps that have arrived as a whole
  uint32_t votes = 0, voters = 0;  // true predicates and all predicates of this phase
  std::vector<BarrierWarp> warps;
};

// Split::barrier of a lane that waits at bar.arrive for the rest of its warp: this plus the barrier's number.
inline constexpr uint32_t kOwnWarpOnly = 16;

class Block {
 public:
  Block(const Grid& grid, uint64_t index, Environment& environment, Listener* listener);

  const Grid& grid() const { return *grid_; }
  uint64_t index() const { return index_; }    // linear in the grid
  Dim3 position() const { return position_; }  // %ctaid
  uint32_t sm = 0;                             // the slot it occupies
  uint32_t first_scheduler = 0;                // of warp 0; the next warp is on the next one, in turn
  uint32_t device = 0;
  uint32_t resident_index = 0;  // the scheduler's: among the resident blocks of its grid
  Cluster* cluster = nullptr;   // null: no cluster launch
  uint32_t rank_in_cluster = 0;

  std::vector<std::unique_ptr<Warp>>& warps() { return warps_; }
  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  uint32_t threads() const { return threads_; }
  bool finished() const { return live_warps_ == 0; }

  // Shared memory, addressed from mem::kSharedReserved.
  std::byte* shared() { return shared_.empty() ? nullptr : shared_[0].bytes; }
  uint32_t shared_bytes() const { return shared_bytes_; }
  // Whether the listener wants to hear of weak accesses to it.
  bool shared_observed = true;
  // A flag per byte when the grid checks uninitialised reads, else empty.
  std::vector<uint8_t>& shared_written() { return shared_written_; }

  // True if the lanes may go on at once: the barrier is complete (or for `pass` their own warp), and every other lane
  // that waited has been released. Throws Trap on misuse.
  bool arrive(Warp& warp, const Inst& inst, const Arrival& arrival);
  BlockBarrier& barrier(uint32_t id) { return barriers_[id]; }
  const BlockBarrier& barrier(uint32_t id) const { return barriers_[id]; }
  // Called by a warp whose lanes exit: they no longer hold up barriers.
  void lanes_exited(Warp& warp);

  // Commit groups of a thread; made when first asked for.
  AsyncGroups& async_groups(GroupKind kind, uint32_t warp, uint32_t lane);
  uint64_t next_copy = 0;  // AsyncCopy::sequence

  // Of tcgen05; made when first asked for.
  TensorMemory& tensor_memory();

  // The cluster whose barrier this block's threads use: without a cluster launch, one of its own.
  Cluster& barrier_cluster();

  Environment& environment() { return *environment_; }
  Listener* listener() { return listener_; }

 private:
  void check(Warp& warp, const Inst& inst, const Arrival& arrival) const;
  bool is_full(const BlockBarrier& b, size_t warp) const;
  void count_full(BlockBarrier& b) const;
  bool complete_if_full(uint32_t id, const Inst* inst);
  void release_passing(BlockBarrier& b, size_t warp, uint32_t id);
  void report(Warp& warp, SyncKind kind, uint32_t id, Mask lanes, const Inst* inst);

  const Grid* grid_;
  uint64_t index_;
  Dim3 position_;
  uint32_t threads_;
  uint32_t live_warps_;
  Environment* environment_;
  Listener* listener_;
  // Aligned to what Watch takes for a line: which bytes share a line must not depend on the host's allocator.
  struct alignas(128) SharedLine {
    std::byte bytes[128];
  };
  std::vector<SharedLine> shared_;
  uint32_t shared_bytes_ = 0;
  std::vector<uint8_t> shared_written_;
  std::array<BlockBarrier, 16> barriers_;
  std::vector<AsyncGroups> async_groups_[3];
  std::shared_ptr<Cluster> own_cluster_;
  std::shared_ptr<TensorMemory> tensor_memory_;
  std::vector<std::unique_ptr<Warp>> warps_;
};

// The blocks of one cluster, and its barrier. All blocks of a cluster live until the last of them has finished: they
// may reach each other's shared memory, and a late access must find out that the block has exited.
class Cluster {
 public:
  std::vector<Block*> blocks;  // by rank
  uint64_t phase = 0;          // of barrier.cluster; ends when every thread has arrived or exited

  // barrier.cluster.arrive. Throws Trap if a lane arrives twice without waiting.
  void arrive(Warp& warp, const Inst& inst, Mask lanes);
  // barrier.cluster.wait: those of `lanes` whose phase has ended; they are through and may arrive again. The others
  // must wait in SplitState::cluster_barrier and ask again. Throws Trap if a lane has not arrived.
  Mask pass(Warp& warp, const Inst& inst, Mask lanes);
  // After lanes have exited or arrived.
  void end_phase_if_full();

 private:
  // Lanes of one warp that have arrived and not yet waited, and the parity of the phase in which they did.
  struct Arrivals {
    Mask arrived = 0;
    Mask parity = 0;
  };
  Arrivals& arrivals_of(const Warp& warp);

  std::vector<std::vector<Arrivals>> arrivals_;  // by rank and warp; made by the first arrival
  bool in_use_ = false;                          // a thread has arrived in this phase
};

}  // namespace fb::simt
