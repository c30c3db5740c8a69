#pragma once

// What became of a mutant.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audit/mutate/mutants.h"
#include "common/base/result.h"

namespace fb::mutate {

// In this order: the first that applies.
enum class Fate : uint8_t {
  invalid,              // does not compile
  same_code,            // compiles to the reference's code
  duplicate,            // compiles to another mutant's code
  declared_equivalent,  // in the file of equivalents, with a reason, and it passes
  killed,
  survived,
  unjudged,  // the judge could not say
};
inline constexpr std::array<std::string_view, 7> kFateNames = {
    "invalid", "same code", "duplicate", "declared equivalent", "killed", "survived", "unjudged"};

// What it took to kill it; the first that did.
enum class Means : uint8_t {
  none,
  ordinary,   // run and compare, in one ordinary schedule of each world
  schedules,  // run and compare, in other schedules
  checkers,   // a race was seen
};
inline constexpr std::array<std::string_view, 4> kMeansNames = {"none", "ordinary", "schedules", "checkers"};

struct MutantResult {
  Mutant mutant = {};  // its source is not kept in JSON
  Fate fate = Fate::unjudged;
  Means means = Means::none;
  std::string code = {};          // hash of what it compiles to
  std::string duplicate_of = {};  // id
  std::string argument = {};      // why it is equivalent
  std::string verdict = {};       // class
  std::string summary = {};
  double seconds = 0;
};

struct Run {
  uint64_t seed = 0;
  bool quick = false;
  bool ordinary_only = false;  // what survived may still be noticed by a full judgement
  std::vector<MutantResult> results = {};
  // Arguments for mutants that do not exist, or that are killed.
  std::vector<std::string> stale = {};
};

std::string to_json(const Run& run);
Result<Run> parse_run(std::string_view json);

}  // namespace fb::mutate
