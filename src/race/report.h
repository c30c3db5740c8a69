#pragma once

// A race, in words.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "simt/inst.h"
#include "simt/source_location.h"

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
  std::string text;       // begins with the name of the class
  std::string_view rule;  // ReportRule::name of the rule that decided
};

using ReportFn = std::function<void(Report&&)>;
using LocateFn = std::function<simt::SourceLocation(const simt::Program& program, uint32_t origin)>;

}  // namespace fb::race
