#pragma once

// What a run is asked to do: the same struct on the command line, in the machine, in the record and in the line that
// replays the run. Its fields are rows of run_options.def.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::record {

enum class AccessMode : uint8_t { hardware, strict };
std::string_view to_string(AccessMode mode);
std::optional<AccessMode> access_mode_from(std::string_view name);

inline constexpr uint64_t kHighPieceFirst = 2;

struct RunOptions {
#define RUN_OPTION(form, type, name, initial, help) type name = initial;
#include "common/record/run_options.def"

  bool strict() const { return mode == AccessMode::strict; }
  // In which order strict mode makes the pieces of a wide store: a bit of the seed, so that several seeds try both.
  bool high_piece_first() const { return (seed & kHighPieceFirst) != 0; }
  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

// One JSON object, as the launcher writes it for the machine. Unknown keys are ignored, missing ones keep their
// defaults.
std::string to_json(const RunOptions& options);
Result<RunOptions> parse_run_options(std::string_view json);

// "some_name" → "--some-name"
std::string flag_of(std::string_view field);
// "0,2,1"; for an empty list "0", which is the same schedule.
std::string to_text(const std::vector<uint32_t>& choices);

// The flags of `fabricbench exec` that give these options, as words: platform, ranks, schedule and mode always, others
// where they differ from the default. Internal options have no flag.
std::vector<std::string> command_words(const RunOptions& options);

}  // namespace fb::record
