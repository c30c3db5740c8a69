#pragma once

#include <cstdint>

namespace fb::platform {

// Virtual time, in picoseconds.
using Time = uint64_t;

inline constexpr Time kNanosecond = 1'000;
inline constexpr Time kMicrosecond = 1'000'000;

// The owner of memory that belongs to no device; equal to mem::kHostMemory.
inline constexpr uint32_t kHost = ~uint32_t{0};

}  // namespace fb::platform
