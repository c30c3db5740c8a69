#pragma once

// What the checker has found, in words.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fb::race {

enum class RaceClass : uint8_t {
  write_read,
  read_write,
  write_write,
  not_released,
  not_acquired,
  narrow_scope,
  foreign_fence,
  mixed_size,
  reused_early,
  proxy_crossed,
  not_atomic,
  in_one_warp,
  in_band_flag,
};
// "published without release"
std::string_view name_of(RaceClass c);

struct Report {
  RaceClass kind{};
  std::optional<int> rank;
  std::string text;  // begins with the class's name
};

}  // namespace fb::race
