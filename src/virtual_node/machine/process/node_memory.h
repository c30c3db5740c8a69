#pragma once

// Memory of processes: where it is mapped, and which devices may access it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/platform/platform.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/checking.h"
#include "virtual_node/machine/process/memory_budget.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/sharing.h"

namespace fb::machine {

// Memory of a process that the machine can reach; keeps the allocation alive.
struct Bytes {
  std::byte* host = nullptr;
  std::shared_ptr<mem::Allocation> allocation;

  uint64_t offset() const { return static_cast<uint64_t>(host - allocation->bytes.get()); }
};

class NodeMemory {
 public:
  // `checking` is null where no races are looked for.
  NodeMemory(const platform::Platform& platform, const DeviceLimits& limits, MemoryBudget& budget, IpcTokens& tokens,
             PhysicalExports& exports, Engine& engine, Checking* checking, uint64_t fresh_seed)
      : platform_(platform),
        limits_(limits),
        budget_(budget),
        tokens_(tokens),
        exports_(exports),
        engine_(engine),
        checking_(checking),
        fresh_(fresh_seed) {}
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  bool valid_device(uint32_t device) const { return device < platform_.node.devices; }
  // Made on first use.
  Context& context(Process& process, uint32_t device);
  bool may_touch(const Process& process, uint32_t device, const Region& region) const;

  // Null when there is none left. Fresh memory holds any bytes.
  enum class Contents : uint8_t { fresh, zero };
  std::shared_ptr<mem::Allocation> take_memory(Process& process, uint32_t device, uint64_t bytes, std::string label,
                                               Contents contents = Contents::fresh);
  // Without `contents` those of the descriptor.
  std::shared_ptr<mem::Allocation> take_shared(Process& process, uint64_t bytes, std::string label, int descriptor,
                                               std::optional<Contents> contents = {});
  const mem::FreshBytes* fresh_bytes() const { return fresh_.are_zeros() ? nullptr : &fresh_; }

  // Maps it for every device that may access it. Null when there are no addresses left.
  Region* add_region(Process& process, Region region);
  bool release_region(Process& process, mem::Address begin);
  void release_regions(Process& process, std::span<const mem::Address> begins);
  // The process frees memory that it may have exported.
  void note_free(const Process& process, mem::Address begin);
  // To be called before unmap_everywhere(): afterwards nothing sleeps on unmapped bytes or is in flight to them.
  void forget_everywhere(Process& process);
  void unmap_everywhere(Process& process, mem::Address begin);

  // Of a device other than the pool's own.
  void set_access(Process& process, Pool& pool, uint32_t device, bool accessible);

  // Where a copy between two devices begins and ends, and whose memory it is.
  struct Ends {
    mem::Address from = 0, to = 0;
    uint32_t owner_of_from = 0, owner_of_to = 0;
  };
  // Whether one of the devices can access the other's memory; otherwise the driver copies through the host.
  bool is_direct(Process& process, uint32_t copying, const Ends& ends);

  // No host address: the process has no such memory.
  Bytes find_bytes(Process& process, mem::Address a, uint64_t size) const;

 private:
  bool fits(uint32_t device, uint64_t bytes) const {
    return budget_.fits_device(device, bytes) && budget_.fits_host(bytes);
  }
  std::string describe_for(const Process& process, uint32_t device, mem::Address a) const;

  const platform::Platform& platform_;
  const DeviceLimits& limits_;
  MemoryBudget& budget_;
  IpcTokens& tokens_;
  PhysicalExports& exports_;
  Engine& engine_;
  Checking* checking_;
  mem::FreshBytes fresh_;
};

}  // namespace fb::machine
