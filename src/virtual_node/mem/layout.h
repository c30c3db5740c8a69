#pragma once

// The 64-bit generic address map that guest code sees. Fixed, so that a run's addresses never depend on the host.

#include <cstdint>

namespace fb::mem {

using Address = uint64_t;

// Below 4 GiB nothing is ever mapped: null and near-null pointers fault.
// One 4 GiB window each; the low 32 bits are the address inside the space.
inline constexpr Address kSharedWindow = 0x1'0000'0000;
inline constexpr Address kLocalWindow = 0x2'0000'0000;
inline constexpr Address kParamWindow = 0x3'0000'0000;
inline constexpr Address kWindowSize = 0x1'0000'0000;

// Functions have addresses so that they can be called through pointers; no data lives there.
inline constexpr Address kCodeWindow = 0x4'0000'0000;

// Memory proper: what an AddressSpace maps. Constant variables are below everything else.
inline constexpr Address kConstantBegin = 0x8'0000'0000;
inline constexpr Address kGlobalBegin = 0x10'0000'0000;
// Addresses that are handed out end here. Behind it a host process has memory of its own, which it can register.
inline constexpr Address kGlobalEnd = kGlobalBegin + (Address{1} << 44);

inline constexpr bool is_memory(Address a) { return a >= kConstantBegin; }
inline constexpr bool is_global(Address a) { return a >= kGlobalBegin; }
inline constexpr bool is_constant(Address a) { return a >= kConstantBegin && a < kGlobalBegin; }
inline constexpr bool is_shared(Address a) { return a - kSharedWindow < kWindowSize; }
inline constexpr bool is_local(Address a) { return a - kLocalWindow < kWindowSize; }
inline constexpr bool is_param(Address a) { return a - kParamWindow < kWindowSize; }

// Inside the shared window: offsets below kSharedReserved are never valid (as on sm_90, and so that null faults);
// a block's own memory starts there. The shared memory of block r of the cluster is seen at (r + 1) << kClusterShift.
inline constexpr uint32_t kSharedReserved = 1024;
inline constexpr uint32_t kClusterShift = 24;

}  // namespace fb::mem
