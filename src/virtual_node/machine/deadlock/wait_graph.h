#pragma once

// The wait-for graph of a deadlock. Nodes are groups of threads that wait alike, streams that wait for a value, and
// host threads; edges lead from a wait to the agents that could end it. Plain data: rules about it are in causes.h, its
// text in graph_text.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "virtual_node/machine/deadlock/needed_value.h"
#include "virtual_node/machine/deadlock/store_targets.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/engine/write_history.h"
#include "virtual_node/simt/async/mbarrier.h"

namespace fb::machine {

// The snapshot

struct BlockedRun {
  const GridRun* run = nullptr;
  const mem::AddressSpace* space = nullptr;
  std::function<mem::Address(std::string_view)> address_of;  // of the module's variables
  uint32_t process = 0;
  int32_t rank = -1;
  std::string owner;    // "rank 0, device 1"; empty: machine::Device
  uint64_t launch = 0;  // of this kernel by this process, from 1; 0: not counted
  uint64_t call = 0;    // of run, from 1; 0: not judged, or of no call
};

// An operation of a stream that has not ended and is no running kernel.
struct BlockedOp {
  std::string owner, name;
  uint32_t process = 0;
  int32_t rank = -1;
  bool begun = false;
  uint64_t call = 0;  // BlockedRun::call
  // A kernel that can't begin yet.
  const simt::Grid* grid = nullptr;
  const mem::AddressSpace* space = nullptr;
  std::function<mem::Address(std::string_view)> address_of;
  // The bytes it will write, unless it is a kernel.
  const mem::Allocation* writes = nullptr;
  uint64_t begin = 0, end = 0;
  // A stream that waits for a value.
  const mem::Allocation* waits_on = nullptr;
  uint64_t offset = 0;
  uint32_t bytes = 0;
  std::string need_text;
  std::optional<Need> need;
  // Everything that must end before it begins, transitively.
  std::vector<size_t> after_runs, after_ops;
};

struct BlockedHost {
  uint32_t process = 0;
  int32_t rank = -1;
  std::string text;               // "rank 0: a host thread waits in …"
  std::vector<size_t> runs, ops;  // that it waits for
  bool for_peers = false;         // it waits for other ranks, not for a device
};

struct RankFacts {
  uint32_t process = 0;
  int32_t rank = -1;
  std::string name;
  bool gone = false;
  bool returned = false;       // from the call that is being judged
  bool in_joint_work = false;  // waits in an operation that other ranks take part in
  uint64_t call = 0;           // that its host is in, or was in last
};

// Why a collective operation does not end, and what each of its ranks has called; or the same of network cards.
struct CollectiveBlame {
  uint8_t cause = 0;  // of enum Cause
  std::string sentence, look_at;
  std::vector<std::string> calls;
  // Something else keeps a rank from its call: a kernel that waits says more.
  bool is_victim = false;
};

struct DeadlockSnapshot {
  std::optional<CollectiveBlame> collective, cards;
  std::vector<BlockedRun> runs;
  std::vector<BlockedOp> ops;
  std::vector<BlockedHost> hosts;
  std::vector<RankFacts> ranks;
  const WriteHistory* history = nullptr;
  std::function<std::string(uint32_t process, uint32_t device)> owner_of;
  std::function<std::string(const mem::Allocation&)> name_of;
  // Of network cards that may write a word; empty: none may.
  std::function<std::string(uint32_t process, uint64_t address)> explain_memory;
  // Null: the process has released it.
  std::function<const mem::AddressSpace*(uint32_t process, uint32_t device)> space_of;
};

// The graph

enum class WaitKind : uint8_t {
  memory,           // bytes of global or host memory
  shared_memory,    // … of a block's shared memory
  mbarrier,         // the end of a phase
  block_barrier,    // bar.sync
  cluster_barrier,  // barrier.cluster.wait
  lanes,            // other lanes of its warp
  copies,           // its own asynchronous copies
  nothing,          // a loop that reads no memory
};

struct PastWrite {
  std::string writer, where;  // where: "file:line", may be empty
  std::optional<uint64_t> value;
  uint64_t sequence = 0, time = 0;
  WriteHistory::Kind kind{};
  uint64_t grid = 0;
  uint32_t block = 0, warp = 0;
  uint32_t process = 0;
  std::string kernel;  // mangled
  uint64_t launch = 0;
  uint64_t call = 0;  // BlockedRun::call
  uint64_t seen_by = 0;
};

// A store instruction that is known to write a word, and why.
enum class StoreEvidence : uint8_t {
  this_word,    // it has written it before
  other_ranks,  // … the same word of memory that other ranks have
  neighbours,   // … the words on both sides of it
};
struct KnownStore {
  StoreSite site;
  StoreEvidence evidence{};
  std::string where;  // "file:line", may be empty
};

// Threads of one warp.
struct WaitingThreads {
  const simt::Warp* warp = nullptr;
  const simt::Split* split = nullptr;
  uint64_t block = 0;
  uint32_t index = 0;  // of the warp
  simt::Mask lanes = 0;
};

// Threads that wait at the same instruction, for the same.
struct Wait {
  static constexpr size_t kNone = ~size_t{0};
  WaitKind kind{};
  size_t run = kNone;  // of DeadlockSnapshot::runs
  size_t op = kNone;   // … or of ops: a stream
  simt::SourceLocation location;
  std::vector<WaitingThreads> threads;

  // Of memory: the first word, and how many words they wait for together.
  const mem::Allocation* allocation = nullptr;
  uint64_t address = 0, offset = 0;
  uint32_t bytes = 0;
  uint64_t seen = 0;
  std::optional<Need> need;
  std::string need_text;
  size_t words = 1;
  uint64_t since = 0;             // time of its last load
  std::vector<PastWrite> writes;  // oldest first
  uint64_t reader_bits = 0;       // WriteHistory::reader_bits() of its warps
  // The stores that write this word; empty: not known, and every store to the allocation may be one.
  std::vector<KnownStore> stores;

  // Of barriers.
  uint32_t barrier = 0, arrived = 0, expected = 0;
  bool counted = false;  // the code says how many threads
  uint32_t exited = 0;   // threads of the block
  simt::Mask missing_lanes = 0;
  simt::Mbarrier mbarrier;

  // Agents that could end it: other waits, blocks that have not started (by run), operations that have not begun, and,
  // for memory of the host, the host.
  std::vector<size_t> waits, unstarted, ops;
  bool host = false;
  bool itself = false;  // threads of this group, once they go on
  // Agents that could have ended it and have exited without: blocks, other threads, and kernels.
  std::vector<std::string> ended_blocks, ended_threads, ended_kernels;

  bool has_no_writer() const { return waits.empty() && unstarted.empty() && ops.empty() && !itself; }
};

struct WaitGraph {
  DeadlockSnapshot facts;
  std::vector<Wait> waits;
  uint64_t waiting_threads = 0;
  uint64_t not_examined = 0;  // warps beyond the limit

  const BlockedRun* run_of(const Wait& wait) const { return wait.run == Wait::kNone ? nullptr : &facts.runs[wait.run]; }
};

WaitGraph make_wait_graph(DeadlockSnapshot facts);
// The write with its agent and source line in words; without the value.
PastWrite make_past_write(const WriteHistory::Write& write, const DeadlockSnapshot& facts);

// "file:line", or the PTX line.
std::string short_location(const simt::SourceLocation& location);
// A kernel without its parameters.
std::string short_name(const std::string& mangled);

}  // namespace fb::machine
