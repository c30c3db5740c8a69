#pragma once

// What an operator looks at and what it makes of it.

#include <cstddef>
#include <string>
#include <vector>

#include "audit/mutate/code.h"
#include "audit/mutate/synchronization.h"

namespace fb::mutate {

struct Edit {
  size_t offset = 0, length = 0;
  std::string replacement = {};
  friend bool operator==(const Edit&, const Edit&) = default;
};

// One mistake; the first edit is where it is said to be. Edits do not overlap.
using Change = std::vector<Edit>;

// What operators look at.
struct Solution {
  const Code& code;
  const Synchronization& synchronization;
};

}  // namespace fb::mutate
