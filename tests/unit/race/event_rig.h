#pragma once

// Hand-built events for the detector: blocks and warps that never run; a test says what each thread does, in order.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/ptx/module.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/detector.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/watch.h"

namespace fb::race {

struct Thread {
  simt::Block* block = nullptr;
  uint32_t index = 0;

  simt::Warp& warp() const { return *block->warps()[index / simt::kLanes]; }
  uint32_t lane() const { return index % simt::kLanes; }
  Mask mask() const { return Mask{1} << lane(); }
};

// How memory is accessed, and at which line of the source.
struct How {
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::none;
  uint8_t bytes = 4;
  uint8_t element = 0;
  Proxy proxy = Proxy::generic;
  uint32_t line = 0;                    // 0: a line of its own
  const void* const* values = nullptr;  // simt::Access::values
};

// Lines of instructions that the detector treats differently (SiteTraits).
enum SpecialLine : uint32_t {
  kRed = 1,
  kProxyFence,
  kWaitGroupRead,
  kCpAsync,
  kBarArrive,
  kBulkThroughSwitch,
  kFenceMbarrierInit,
  kFirstFreeLine = 10
};

class EventRig final : public simt::Environment {
 public:
  // Without weak delivery: loads return the newest value.
  explicit EventRig(const Options& options = {.weak_lines = 0});
  ~EventRig() override;
  EventRig(const EventRig&) = delete;
  EventRig& operator=(const EventRig&) = delete;

  Detector& detector() { return *detector_; }
  uint64_t call = 0;  // of run, that kernels from now on belong to
  // The reports so far.
  const std::vector<Report>& reports() const { return reports_; }
  bool clean() const { return reports_.empty(); }
  std::string text() const;  // of all reports

  // An operation on a stream; kernels have blocks.
  uint32_t kernel(uint32_t device = 0, const ClockRef& incoming = nullptr, StreamEpoch at = {});
  uint32_t copy(uint32_t device = 0, const ClockRef& incoming = nullptr, StreamEpoch at = {});
  // Ends all warps of a kernel, then the operation.
  ClockRef end(uint32_t operation);
  // A block of two warps; without an operation, of a kernel of its own.
  simt::Block& block(uint32_t device = 0, uint32_t operation = 0);
  // A cluster of new blocks of one kernel.
  simt::Cluster& cluster(uint32_t blocks);
  Thread thread(uint32_t device = 0) { return {&block(device), 0}; }

  mem::Address memory(uint32_t device = 0, uint64_t bytes = 4096);
  mem::Allocation& allocation(mem::Address a) { return *space_.find(a)->allocation; }
  static mem::Address shared(uint32_t offset) { return mem::kSharedWindow + mem::kSharedReserved + offset; }

  void load(Thread t, mem::Address a, const How& how = {}) { access(t, AccessKind::load, a, how); }
  void store(Thread t, mem::Address a, const How& how = {}) { access(t, AccessKind::store, a, how); }
  void atomic(Thread t, mem::Address a, const How& how = {.order = MemoryOrder::relaxed, .scope = Scope::sys}) {
    access(t, AccessKind::atomic, a, how);
  }
  // One instruction of a whole warp; addresses[l] for the lanes of the mask.
  void access(simt::Warp& w, AccessKind kind, Mask lanes, const std::vector<mem::Address>& addresses, const How& how);

  void fence(Thread t, Scope scope, MemoryOrder order = MemoryOrder::acq_rel, uint32_t line = 0);
  void sync(Thread t, simt::SyncKind kind, uint32_t id, MemoryOrder order = MemoryOrder::weak, uint32_t line = 0);
  void sync(simt::Warp& w, Mask lanes, const simt::Sync& sync, uint32_t line = 0);
  void syncthreads(simt::Block& b, uint32_t id = 0);
  void syncwarp(simt::Warp& w, Mask lanes = simt::kAllLanes);
  // All threads of the cluster arrive, then all wait.
  void sync_cluster(simt::Cluster& c, MemoryOrder arrive = MemoryOrder::release,
                    MemoryOrder wait = MemoryOrder::acquire);
  // A cp.async.bulk or cp.async (line kCpAsync) of one thread, issued but not complete.
  simt::AsyncCopy issue_copy(Thread t, mem::Address to, mem::Address from, const How& how);
  // cp.async.mbarrier.arrive of a thread all of whose copies so far are done.
  void copies_arrive(Thread t, simt::Block& owner, uint32_t offset);
  void signal_mbarrier(const simt::AsyncCopy& copy, simt::Block& owner, uint32_t offset);

 private:
  simt::Block& make_block(uint32_t operation);
  void start(simt::Block& block);
  void access(Thread t, AccessKind kind, mem::Address a, const How& how);
  const simt::Inst& inst(uint32_t line);

  mem::AddressSpace& global() override { return space_; }
  simt::Watch& watch() override { return watch_; }
  void make_ready(simt::Warp&, Cause) override {}
  void print(std::string_view) override {}
  uint64_t cycles() override { return 0; }
  uint64_t nanoseconds() override { return 0; }
  void start(simt::AsyncCopy) override {}
  mem::Address heap_allocate(uint64_t) override { return 0; }
  bool heap_release(mem::Address) override { return false; }

  struct Kernel {
    uint32_t operation = 0;
    uint32_t device = 0;
    simt::Grid grid;
    std::vector<simt::Block*> blocks;
  };

  mem::AddressSpace space_;
  simt::Watch watch_;
  ptx::Module module_;
  simt::Program program_;
  simt::FunctionInfo function_;
  std::deque<Kernel> kernels_;
  std::vector<std::unique_ptr<simt::Block>> blocks_;
  std::vector<std::unique_ptr<simt::Cluster>> clusters_;
  std::vector<Report> reports_;
  std::unique_ptr<Detector> detector_;
  std::vector<simt::Inst> insts_;
  uint32_t next_line_ = kFirstFreeLine;
  uint32_t next_stream_ = 1000, next_number_ = 0, next_memory_ = 1;
};

// The usual orders.
inline constexpr How kReleaseSys{.order = MemoryOrder::release, .scope = Scope::sys};
inline constexpr How kAcquireSys{.order = MemoryOrder::acquire, .scope = Scope::sys};
inline constexpr How kRelaxedSys{.order = MemoryOrder::relaxed, .scope = Scope::sys};

}  // namespace fb::race
