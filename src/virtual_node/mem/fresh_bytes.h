#pragma once

// What memory holds before anything has written it: bytes drawn from a seed, as on hardware that does not clear memory.

#include <cstddef>
#include <cstdint>
#include <span>

namespace fb::mem {

class FreshBytes {
 public:
  // 0: zeros.
  explicit FreshBytes(uint64_t seed);
  ~FreshBytes();
  FreshBytes(const FreshBytes&) = delete;
  FreshBytes& operator=(const FreshBytes&) = delete;

  bool are_zeros() const { return pattern_ == nullptr; }
  // Both do nothing where fresh memory is zero. `number` draws where in the pattern the bytes begin, so that no two
  // allocations look alike.
  void fill(std::span<std::byte> memory, uint64_t number) const;
  // The same for whole pages at a page boundary, which must be a private mapping: pages that are never touched cost
  // nothing. False: the system refuses; the memory is as before.
  bool map(std::byte* begin, uint64_t bytes, uint64_t number) const;

 private:
  static constexpr uint64_t kPatternBytes = 4 << 20, kPage = 4096;
  uint64_t offset_of(uint64_t number) const;

  uint64_t seed_ = 0;
  int descriptor_ = -1;
  std::byte* pattern_ = nullptr;
};

}  // namespace fb::mem
