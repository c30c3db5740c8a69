#pragma once

// Mutants that no execution can tell from the reference, each with the argument why. Written by people, in a TOML file:
//
//   [[mutant]]
//   id = "all_reduce_ring/relax-release/105:88/0"
//   why = "…"

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace fb::mutate {

using Equivalents = std::map<std::string, std::string>;  // id → argument

Result<Equivalents> parse_equivalents(std::string_view toml);

}  // namespace fb::mutate
