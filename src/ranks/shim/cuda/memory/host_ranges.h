#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "common/wire/messages.h"

namespace fb::shim {

struct HostRange {
  uint64_t begin = 0, bytes = 0;
  wire::MemoryKind kind = wire::MemoryKind::host;  // host, managed, registered
  unsigned int flags = 0;                          // cudaHostAlloc… or cudaHostRegister…
};

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

uint64_t round_to_pages(uint64_t bytes);

}  // namespace fb::shim
