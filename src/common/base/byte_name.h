#pragma once

// The name of a byte of device memory in reports and on the command line: m7+0x40.

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/numbers.h"

namespace fb {

struct ByteName {
  uint32_t memory = 0;  // from 1
  uint64_t offset = 0;
};

inline std::optional<ByteName> byte_named(std::string_view text) {
  const size_t plus = text.find('+');
  if (!text.starts_with('m') || plus == std::string_view::npos) return std::nullopt;
  const auto memory = as_number<uint32_t>(text.substr(1, plus - 1));
  const std::string_view offset = text.substr(plus + 1);
  const auto at = offset.starts_with("0x") ? as_number<uint64_t>(offset.substr(2), 16) : as_number<uint64_t>(offset);
  if (!memory || *memory == 0 || !at) return std::nullopt;
  return ByteName{*memory, *at};
}

}  // namespace fb
