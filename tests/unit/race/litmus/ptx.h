#pragma once

// A litmus test as a kernel. Device, block and thread tell a thread its part; its registers go to words of its own at
// the end, so that nothing is ordered by looking at the result.

#include <cstdint>
#include <string>

#include "litmus/program.h"

namespace fb::litmus {

inline constexpr uint32_t kLocationStride = 256;  // bytes; no two share a line
inline constexpr uint32_t kCopyBytes = 16;        // of a bulk copy; the value is the first word
inline constexpr uint32_t kMostRegisters = 4;

// The kernel "litmus" with these parameters, in order: memory, multicast (both u64), results (u64), device (u32).
std::string to_ptx(const Program& program);

}  // namespace fb::litmus
