// Where mma.sync keeps the elements of its operands: the row and the column of element `index` of a lane. A is rows ×
// k, B is k × columns, C is rows × columns; a lane is in one of 8 groups, at one of 4 places.
#pragma once
#include "fabricbench/language.h"

namespace fabricbench {
namespace matrix {

struct Place {
  unsigned int row, column;
};
FABRICBENCH_DEVICE unsigned int lane() {
#if defined(__clang__)
  return __nvvm_read_ptx_sreg_laneid();
#else
  unsigned int l;
  asm("mov.u32 %0, %%laneid;" : "=r"(l));
  return l;
#endif
}
FABRICBENCH_DEVICE unsigned int group_of_lane() { return lane() / 4; }
FABRICBENCH_DEVICE unsigned int place_in_group() { return lane() % 4; }

// m16n8k16 of 16-bit floats.
struct Of16Bits {
  static constexpr int kRows = 16, kColumns = 8, kDepth = 16, kOfA = 8, kOfB = 4, kOfC = 4;
  static FABRICBENCH_DEVICE Place a(int i) {
    return {group_of_lane() + (i & 2 ? 8 : 0), place_in_group() * 2 + (i & 1) + (i & 4 ? 8 : 0)};
  }
  static FABRICBENCH_DEVICE Place b(int i) {
    return {place_in_group() * 2 + (i & 1) + (i & 2 ? 8 : 0), group_of_lane()};
  }
  static FABRICBENCH_DEVICE Place c(int i) {
    return {group_of_lane() + (i & 2 ? 8 : 0), place_in_group() * 2 + (i & 1)};
  }
};
// m16n8k16 of bytes.
struct OfBytes : Of16Bits {
  static FABRICBENCH_DEVICE Place a(int i) {
    return {group_of_lane() + (i & 4 ? 8 : 0), place_in_group() * 4 + (i & 3)};
  }
  static FABRICBENCH_DEVICE Place b(int i) { return {place_in_group() * 4 + i, group_of_lane()}; }
};
// m16n8k8 of tf32.
struct OfTf32 : Of16Bits {
  static constexpr int kDepth = 8, kOfA = 4, kOfB = 2;
  static FABRICBENCH_DEVICE Place a(int i) {
    return {group_of_lane() + (i & 1 ? 8 : 0), place_in_group() + (i & 2 ? 4 : 0)};
  }
  static FABRICBENCH_DEVICE Place b(int i) { return {place_in_group() + (i & 1 ? 4 : 0), group_of_lane()}; }
};
// m8n8k4 of doubles.
struct OfDoubles {
  static constexpr int kRows = 8, kColumns = 8, kDepth = 4, kOfA = 1, kOfB = 1, kOfC = 2;
  static FABRICBENCH_DEVICE Place a(int) { return {group_of_lane(), place_in_group()}; }
  static FABRICBENCH_DEVICE Place b(int) { return {place_in_group(), group_of_lane()}; }
  static FABRICBENCH_DEVICE Place c(int i) { return {group_of_lane(), place_in_group() * 2 + i}; }
};

}  // namespace matrix
}  // namespace fabricbench
