#include "virtual_node/machine/time/caches.h"

#include <cstdlib>
#include <new>

namespace fb::machine {
namespace {

// Programs that allocate and free all the time: what is forgotten is read from memory again.
constexpr size_t kMostAllocations = 4096;

}  // namespace

uint32_t& L2Cache::find(const mem::Allocation& allocation, uint64_t line) {
  if (allocations_.size() > kMostAllocations) {
    allocations_.clear();
    recent_ = {};
  }
  Stamps& stamps = allocations_[allocation.id];
  const uint64_t count = (allocation.size + kCacheLine - 1) / kCacheLine;
  if (stamps.count < count) {
    // From calloc: pages of lines that are never touched cost nothing.
    stamps.lines = {static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t))), &std::free};
    if (!stamps.lines) throw std::bad_alloc();
    stamps.count = count;
  }
  recent_[allocation.id % kRecent] = {allocation.id, stamps.lines.get(), stamps.count};
  return line < stamps.count ? stamps.lines[line] : beyond_;
}

}  // namespace fb::machine
