#pragma once

// How checkers, traces and clocks see a run: events of whole warps. A listener may be attached when a program is
// lowered for observation; programs lowered without it carry no trace of it.

#include <cstddef>
#include <cstdint>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/memory_order.h"

namespace fb::simt {

class Block;
struct AsyncCopy;

enum class AccessKind : uint8_t { load, store, atomic };

// One memory instruction of one warp. addresses[l] is valid for lanes in `lanes`: generic addresses.
struct Access {
  AccessKind kind{};
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::none;
  Proxy proxy = Proxy::generic;
  uint8_t bytes = 0;  // per lane
  Mask lanes = 0;
  const mem::Address* addresses = nullptr;
  const Inst* inst = nullptr;
  uint8_t element = 0;  // bytes of one element of a vector; 0: it is no vector
  // Of a store: for each element the values of all lanes, each as many bytes as an element has. Null: not known here.
  const void* const* values = nullptr;
};

enum class SyncKind : uint8_t {
  fence,
  block_arrive,
  block_release,
  warp,
  cluster_arrive,
  cluster_release,
  mbarrier_arrive,
  mbarrier_wait,
  async_commit,  // the open group of copies is closed
  async_wait,    // all groups of these lanes are done but the newest: `id` is group_word()
};

struct Sync {
  SyncKind kind{};
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::none;
  uint32_t id = 0;  // barrier number, or what the kind says
  Mask lanes = 0;
  const Inst* inst = nullptr;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // False: loads from the block's shared memory, from local and parameter memory are not reported. They are many, and
  // clocks need none.
  bool sees_local_loads = true;
  virtual void on_access(Warp&, const Access&) {}
  virtual void on_sync(Warp&, const Sync&) {}
  virtual void on_warp_start(Warp&) {}
  virtual void on_warp_exit(Warp&) {}
  // The units that WarpClock::occupied names were used since WarpClock::settled: others may want them too.
  virtual void on_units(Warp&) {}
  // A clock's: `write` comes next, and all earlier accesses of the warp have to be visible by then.
  virtual void on_release(Warp&, const Inst& write) { (void)write; }
  // Of a warp whose clock is profiled: before its clock moves on.
  virtual void on_span(Warp&, const Span&) {}
  virtual void on_bank_conflict(Warp&, const Inst&, uint64_t extra) { (void)extra; }
  virtual void on_wait_for_loads(Warp&, const Span&, uint64_t until) { (void)until; }
  // Asynchronous copies: handed to the machine, about to be performed, done.
  virtual void on_copy_issue(const AsyncCopy&) {}
  virtual void on_copy_begin(const AsyncCopy&) {}
  virtual void on_copy_end(const AsyncCopy&) {}
  // A copy that is being performed arrives at an mbarrier of `owner`.
  virtual void on_mbarrier_signal(Block& owner, const std::byte* at) {
    (void)owner;
    (void)at;
  }
  // cp.async.mbarrier.arrive takes effect: of this lane's copies, those with a smaller sequence number than `before`
  // are done. `at` is an mbarrier of `owner`.
  virtual void on_copies_arrive(Warp& warp, uint32_t lane, uint64_t before, Block& owner, const std::byte* at) {
    (void)warp;
    (void)lane;
    (void)before;
    (void)owner;
    (void)at;
  }
};

}  // namespace fb::simt
