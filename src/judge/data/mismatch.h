#pragma once

#include <cstddef>
#include <cstdint>

namespace fb::judge {

// The first wrong element of one output of one rank, and how many there are.
struct Mismatch {
  int rank = 0;
  size_t tensor = 0;
  int64_t index = 0, last = 0;  // the first and the last wrong element
  int64_t wrong = 0, elements = 0;
  int64_t poison = 0;  // of the wrong ones: still hold what was there before the call
  double expected = 0, bound = 0, got = 0;
};

}  // namespace fb::judge
