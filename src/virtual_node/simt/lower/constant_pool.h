#pragma once

// Literals as rows: 32 copies each, shared by all functions of a program.

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

class ConstantPool {
 public:
  explicit ConstantPool(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  // A row of 32 copies of the low `width` bytes. Until final_offset() it is named by its offset from the pool's begin.
  int32_t row(uint32_t width, uint64_t low, uint64_t high = 0) {
    const auto [it, fresh] = rows_.try_emplace({width, low, high}, 0);
    if (fresh) {
      it->second = kMark + static_cast<int32_t>(bytes_.size());
      const uint64_t words[2] = {low, high};
      const auto* value = reinterpret_cast<const std::byte*>(words);
      for (uint32_t l = 0; l < kLanes; ++l) bytes_.insert(bytes_.end(), value, value + width);
      bytes_.resize((bytes_.size() + 63) / 64 * 64);
    }
    return it->second;
  }

  int32_t mask(bool value) { return row(4, value ? 0xFFFF'FFFF : 0); }

  // Once the pool has its final size: constants count from its end.
  int32_t final_offset(int32_t operand) const {
    if (operand >= 0 || operand == kAbsent) return operand;
    return operand - kMark - static_cast<int32_t>(bytes_.size());
  }

 private:
  static constexpr int32_t kMark = INT32_MIN + 1;

  std::vector<std::byte>& bytes_;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, int32_t> rows_;
};

}  // namespace fb::simt
