#pragma once

// A race, in words.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/source_location.h"

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
// "not-released": for files of suppressions and other programs.
std::string_view id_of(RaceClass c);
// All of them, with those below.
std::vector<std::string_view> all_ids();
// Of stores that write what is there already, and of reads of memory that nothing has written.
inline constexpr std::string_view kSameValueId = "same-value", kUninitialisedId = "uninitialised";

// An access, or a flag between the two, for other programs; the text says the same to people.
struct ReportSite {
  std::string_view role;                  // "first", "then", "read"; of a flag: "flag set", "flag read"
  std::string agent;                      // "rank 0 (device 0), all_reduce, block 0, thread 33"
  std::string kernel;                     // mangled; empty: not of a kernel
  std::vector<simt::SourceFrame> frames;  // the innermost first; empty: no instruction, an operation of a stream
};

struct Report {
  RaceClass kind{};
  std::string_view id;  // of the class
  std::optional<int> rank;
  std::string text;       // begins with the name of the class
  std::string_view rule;  // ReportRule::name of the rule that decided
  std::vector<ReportSite> sites;
  std::string cause;    // equal for races that one change repairs: the flag that ordered nothing; empty: not known
  uint32_t number = 0;  // from 0, for RaceReporter::further()
};

using ReportFn = std::function<void(Report&&)>;
using LocateFn = std::function<simt::SourceLocation(const simt::Program& program, uint32_t origin)>;

}  // namespace fb::race
