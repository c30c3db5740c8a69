#pragma once

#include <string>

#include "judge/data/call_data.h"

namespace fb::prove {

// Whether the expected outputs depend on what they should: on some element of every input, and on data of other ranks.
// Empty if so, else what they do not depend on.
std::string find_insensitivity(const judge::Layout& layout, const judge::Oracle& oracle, uint64_t seed);

// Whether the same seed gives the same inputs and expectations, and another seed others. Empty if so.
std::string find_nondeterminism(const judge::Layout& layout, const judge::Oracle& oracle, uint64_t seed);

}  // namespace fb::prove
