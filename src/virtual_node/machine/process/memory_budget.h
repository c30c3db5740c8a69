#pragma once

// Counts the memory of devices and what it takes of the host. Must outlive every allocation that it counts.

#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/mem/address_space.h"

namespace fb::machine {

class MemoryBudget {
 public:
  // `host_bytes`: what all devices together may take of the host; 0: half of what the host has.
  MemoryBudget(uint32_t devices, uint64_t device_bytes, uint64_t host_bytes);
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  bool fits_device(uint32_t device, uint64_t bytes) const { return bytes <= device_bytes_ - used_[device]; }
  bool fits_host(uint64_t bytes) const;
  // Counts the allocation until its last owner releases it, which may be another process than the one that made it.
  std::shared_ptr<mem::Allocation> count(std::shared_ptr<mem::Allocation> allocation);

  uint64_t used(uint32_t device) const { return used_[device]; }
  uint64_t peak(uint32_t device) const { return peak_[device]; }
  uint64_t total() const { return total_; }
  uint64_t room() const { return most_ - total_; }

 private:
  const uint64_t device_bytes_;
  const uint64_t most_;
  std::vector<uint64_t> used_, peak_;  // by device
  uint64_t total_ = 0;
  uint64_t mappings_ = 0;  // of the host's kernel, which has a limit
};

}  // namespace fb::machine
