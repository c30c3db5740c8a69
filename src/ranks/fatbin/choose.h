#pragma once

// Which entry of a container a device runs.

#include <span>

#include "ranks/fatbin/container.h"

namespace fb::fatbin {

struct Choice {
  const Entry* ptx = nullptr;  // none: `problem` says why
  std::string problem;
};

// The text for a device of compute capability `capability` (90: 9.0): the highest architecture that the device has, as
// in CUDA. Where the container has machine code that the device would run instead and only text for later devices, the
// text nearest to the device: the node runs text alone, and any. Text for later devices alone is no text for this one.
Choice choose_text(std::span<const Entry> entries, uint32_t capability);

}  // namespace fb::fatbin
