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

struct Finding {
  RaceClass kind{};
  std::optional<int> rank;
  std::string text;  // begins with the class's name
};

// Where an instruction is written, for people.
struct CodePlace {
  std::string file;
  uint32_t line = 0;
  std::string function;
  std::string text;  // the PTX instruction
};

}  // namespace fb::race
