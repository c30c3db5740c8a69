#include "virtual_node/mem/fresh_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/hash.h"
#include "common/base/rng.h"

namespace fb::mem {

FreshBytes::FreshBytes(uint64_t seed) : seed_(seed) {
  if (seed == 0) return;
  descriptor_ = memfd_create("fabricbench-fresh", MFD_CLOEXEC);
  if (descriptor_ < 0) return;
  void* at = MAP_FAILED;
  if (ftruncate(descriptor_, static_cast<off_t>(kPatternBytes)) == 0)
    at = mmap(nullptr, kPatternBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (at == MAP_FAILED) return;
  pattern_ = static_cast<std::byte*>(at);
  Rng rng(seed);
  for (uint64_t k = 0; k < kPatternBytes; k += sizeof(uint64_t)) {
    const uint64_t bits = rng.next();
    std::memcpy(pattern_ + k, &bits, sizeof bits);
  }
}

FreshBytes::~FreshBytes() {
  if (pattern_ != nullptr) munmap(pattern_, kPatternBytes);
  if (descriptor_ >= 0) close(descriptor_);
}

uint64_t FreshBytes::offset_of(uint64_t number) const { return mix(seed_, number) % (kPatternBytes / kPage) * kPage; }

void FreshBytes::fill(std::span<std::byte> memory, uint64_t number) const {
  if (pattern_ == nullptr) return;
  uint64_t from = offset_of(number);
  while (!memory.empty()) {
    const uint64_t piece = std::min<uint64_t>(memory.size(), kPatternBytes - from);
    std::memcpy(memory.data(), pattern_ + from, piece);
    memory = memory.subspan(piece);
    from = 0;
  }
}

bool FreshBytes::map(std::byte* begin, uint64_t bytes, uint64_t number) const {
  if (pattern_ == nullptr) return true;
  uint64_t from = offset_of(number);
  while (bytes != 0) {
    const uint64_t piece = std::min(bytes, kPatternBytes - from);
    if (mmap(begin, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor_,
             static_cast<off_t>(from)) == MAP_FAILED)
      return false;
    begin += piece;
    bytes -= piece;
    from = 0;
  }
  return true;
}

}  // namespace fb::mem
