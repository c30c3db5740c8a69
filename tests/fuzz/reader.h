#pragma once

// Takes decisions from the bytes of an input.

#include <cstddef>
#include <cstdint>
#include <span>

namespace fb::fuzz {

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t b = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return b;
  }
  uint64_t word() {
    uint64_t w = 0;
    for (int k = 0; k < 8; ++k) w = w << 8 | byte();
    return w;
  }
  uint32_t below(uint32_t n) { return byte() % n; }
  bool one_in(uint32_t n) { return below(n) == n - 1; }
  template <class T, size_t kN>
  T pick(const T (&values)[kN]) {
    return values[below(kN)];
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace fb::fuzz
