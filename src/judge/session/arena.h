#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fb::judge {

// Memory that judge and machine share, and no rank. Handed out from the front, taken back all at once.
class Arena {
 public:
  // Throws std::system_error.
  explicit Arena(uint64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return descriptor_; }
  uint64_t size() const { return size_; }

  // The offset of a new piece.
  uint64_t take(uint64_t bytes);
  void reset() { used_ = 0; }
  std::span<std::byte> at(uint64_t offset, uint64_t bytes) const { return {memory_ + offset, bytes}; }

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0, used_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace fb::judge
