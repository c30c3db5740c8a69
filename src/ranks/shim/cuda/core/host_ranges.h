#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "ranks/shim/cuda/core/host_memory.h"

namespace fb::shim {

// All host memory of this process that devices can touch, by address.
class HostRanges {
 public:
  void add(const HostRange& range);
  std::optional<HostRange> find(uint64_t address) const;
  // Finds the range that begins here and forgets it.
  std::optional<HostRange> take(uint64_t begin, wire::MemoryKind kind);
  bool overlaps(uint64_t begin, uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, HostRange> ranges_;
};
HostRanges& host_ranges();

// For the library's own use: also while streams capture.
Expected<void*> allocate_host_always(size_t bytes, wire::MemoryKind kind, unsigned int flags);
Error free_host_always(void* pointer);

uint64_t round_to_pages(uint64_t bytes);

}  // namespace fb::shim
