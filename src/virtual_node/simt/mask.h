#pragma once

// Sets of a warp's lanes.

#include <bit>
#include <cstdint>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// The lowest lane of a set that is not empty.
inline uint32_t first_of(Mask lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

// f(lane) for each lane of a set, lowest first.
template <class F>
void each_lane(Mask lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(first_of(lanes));
}

}  // namespace fb::simt
