#pragma once

// A litmus test: a few threads of a few memory operations each, placed on blocks and devices.
// docs/reference/memory_model.md says what may come of it.

#include <cstdint>
#include <string>
#include <vector>

#include "virtual_node/simt/listener.h"

namespace fb::litmus {

using simt::MemoryOrder;
using simt::Scope;

enum class OpKind : uint8_t {
  load,
  store,           // of a constant, or of a register
  exchange,        // atom.exch
  add,             // atom.add: returns the value before
  reduce,          // red.add: returns nothing
  fence,           // fence.acq_rel, fence.sc
  barrier,         // bar.sync of all threads of the block that have one
  guard,           // the thread goes on only if the register holds the value
  bulk_store,      // cp.async.bulk: shared memory → global memory, and its commit
  bulk_load,       // cp.async.bulk: global memory → shared memory, signalled on an mbarrier
  wait_bulk_read,  // the sources of this thread's bulk stores have been read
  wait_bulk,       // this thread's bulk stores are complete
  wait_load,       // this thread's bulk load is complete
  fence_async,     // fence.proxy.async
  fence_alias,     // fence.proxy.alias
  multimem_store,  // multimem.st
  multimem_reduce  // multimem.red.add
};

inline constexpr int16_t kNone = -1;

struct Op {
  OpKind kind{};
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::none;
  int16_t location = kNone;
  int16_t source = kNone;  // of a bulk copy: the location it reads
  int16_t reg = kNone;     // loaded, tested, or stored
  uint32_t value = 0;      // stored, added, or wanted by a guard
  bool wide = false;       // a load or store of 8 bytes; the value is in the first 4, and the others are 0

  friend bool operator==(const Op&, const Op&) = default;
};

// Where a thread runs. Threads of one block are in warps of their own unless they share one as lanes.
struct Place {
  uint8_t device = 0;
  uint8_t block = 0;
  uint8_t warp = 0;
  uint8_t lane = 0;

  bool same_block(const Place& other) const { return device == other.device && block == other.block; }
  friend bool operator==(const Place&, const Place&) = default;
};

struct Thread {
  Place place;
  std::vector<Op> ops;

  friend bool operator==(const Thread&, const Thread&) = default;
};

enum class Memory : uint8_t {
  global,
  shared,     // of the block of the threads that access it
  multicast,  // bound on both devices; ordinary accesses see the memory of device 1
};

struct Location {
  char name = '?';
  Memory memory = Memory::global;

  friend bool operator==(const Location&, const Location&) = default;
};

struct Program {
  std::string family;
  std::vector<Location> locations;  // zero at first
  std::vector<Thread> threads;

  uint32_t registers(size_t thread) const;  // 0 … n-1 are used
};

// What a run shows: each thread's registers (kUnset where the load was not reached), then the final values of the
// locations that several operations write.
using Outcome = std::vector<uint32_t>;
inline constexpr uint32_t kUnset = ~0u;

bool reads(OpKind kind);
bool writes(OpKind kind);
std::vector<int16_t> observed_locations(const Program& program);

// The instruction as PTX has it, without types: "st.release.gpu [f], 1".
std::string text_of(const Program& program, const Op& op);
// Columns of threads, as herd prints them.
std::string text_of(const Program& program);
// "1:r0=1 1:r1=0 x=2".
std::string text_of(const Program& program, const Outcome& outcome);

}  // namespace fb::litmus
