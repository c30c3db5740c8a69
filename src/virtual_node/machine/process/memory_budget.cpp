#include "virtual_node/machine/process/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace fb::machine {
namespace {

// Of the whole node. The host's kernel gives a process some 65,000.
constexpr uint64_t kMostMappings = 1 << 15;
constexpr uint64_t kMapped = 1 << 20;  // from this size on an allocation is a mapping

// What an allocation takes of the host: whole pages, and its bookkeeping.
uint64_t cost_of(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096 + 1024; }

uint64_t half_of_host_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

}  // namespace

MemoryBudget::MemoryBudget(uint32_t devices, uint64_t device_bytes, uint64_t host_bytes)
    : device_bytes_(device_bytes),
      most_(host_bytes != 0 ? host_bytes : half_of_host_memory()),
      used_(devices),
      peak_(devices) {}

bool MemoryBudget::fits_host(uint64_t bytes) const {
  return mappings_ < kMostMappings && bytes <= most_ && cost_of(bytes) <= room();
}

std::shared_ptr<mem::Allocation> MemoryBudget::count(std::shared_ptr<mem::Allocation> allocation) {
  mem::Allocation* raw = allocation.get();
  const bool of_host = raw->device == mem::kHostMemory;
  const uint32_t d = raw->device;
  const uint64_t bytes = raw->size, cost = cost_of(bytes);
  if (!of_host) {
    used_[d] += bytes;
    peak_[d] = std::max(peak_[d], used_[d]);
  }
  const uint64_t mappings = of_host || bytes >= kMapped ? 1 : 0;
  total_ += cost;
  mappings_ += mappings;
  return {raw, [this, allocation = std::move(allocation), of_host, d, bytes, cost, mappings](mem::Allocation*) mutable {
            if (!of_host) used_[d] -= bytes;
            total_ -= cost;
            mappings_ -= mappings;
            allocation.reset();
          }};
}

}  // namespace fb::machine
