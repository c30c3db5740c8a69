#include "ranks/shim/cuda/memory/host_ranges.h"

#include <unistd.h>

namespace fb::shim {

uint64_t round_to_pages(uint64_t bytes) {
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

HostRanges& host_ranges() {
  static HostRanges* const ranges = new HostRanges;
  return *ranges;
}

void HostRanges::add(const HostRange& range) {
  const std::lock_guard lock(mutex_);
  ranges_[range.begin] = range;
}

std::optional<HostRange> HostRanges::find(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return {};
  const HostRange& range = std::prev(next)->second;
  if (address - range.begin >= range.bytes) return {};
  return range;
}

std::optional<HostRange> HostRanges::take(uint64_t begin, wire::MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(begin);
  if (found == ranges_.end() || found->second.kind != kind) return {};
  const HostRange range = found->second;
  ranges_.erase(found);
  return range;
}

bool HostRanges::overlaps(uint64_t begin, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(begin + bytes);
  if (next == ranges_.begin()) return false;
  const HostRange& before = std::prev(next)->second;
  return before.begin + before.bytes > begin;
}

}  // namespace fb::shim
