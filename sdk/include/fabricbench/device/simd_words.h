// SIMD in a word: __vadd4, __vmaxs2, …: two 16-bit or four 8-bit numbers in an unsigned int. On the device alone, as in
// CUDA; the three-operand minima and maxima on both sides.
#pragma once
#include "fabricbench/language.h"

namespace fabricbench {

// A lane of kBits at `index`, and back; Lane is its signed or unsigned type.
template <class Lane>
FABRICBENCH_BOTH int lane_of(unsigned int word, int index) {
  return static_cast<int>(static_cast<Lane>(word >> (index * 8 * static_cast<int>(sizeof(Lane)))));
}
template <class Lane, class Operation>
FABRICBENCH_BOTH unsigned int in_lanes(unsigned int a, unsigned int b, Operation operation) {
  constexpr int kBits = 8 * sizeof(Lane);
  constexpr unsigned int kMask = (1u << kBits) - 1;
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < 32 / kBits; ++i) {
    word |= (static_cast<unsigned int>(operation(lane_of<Lane>(a, i), lane_of<Lane>(b, i))) & kMask) << (i * kBits);
  }
  return word;
}
template <class Lane, class Operation>
FABRICBENCH_BOTH unsigned int in_lanes(unsigned int a, unsigned int b, unsigned int c, Operation operation) {
  constexpr int kBits = 8 * sizeof(Lane);
  constexpr unsigned int kMask = (1u << kBits) - 1;
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < 32 / kBits; ++i) {
    const int value = operation(lane_of<Lane>(a, i), lane_of<Lane>(b, i), lane_of<Lane>(c, i));
    word |= (static_cast<unsigned int>(value) & kMask) << (i * kBits);
  }
  return word;
}
// The nearest number that a lane can hold.
template <class Lane>
FABRICBENCH_BOTH int saturated(int value) {
  constexpr bool kSigned = static_cast<Lane>(-1) < static_cast<Lane>(0);
  constexpr int kHighest = (1 << (8 * static_cast<int>(sizeof(Lane)) - kSigned)) - 1;
  constexpr int kLowest = kSigned ? -kHighest - 1 : 0;
  return value > kHighest ? kHighest : value < kLowest ? kLowest : value;
}

}  // namespace fabricbench

// EACH(name, signedness of the lanes, expression of x and y): of two lanes (…2) and of four (…4).
#define EACH(name, sign, expression)                                                                           \
  FABRICBENCH_DEVICE unsigned int name##2(unsigned int a, unsigned int b) {                                    \
    using Lane = sign short;                                                                                   \
    return fabricbench::in_lanes<Lane>(a, b, [](int x, int y) __attribute__((device)) { return expression; }); \
  }                                                                                                            \
  FABRICBENCH_DEVICE unsigned int name##4(unsigned int a, unsigned int b) {                                    \
    using Lane = sign char;                                                                                    \
    return fabricbench::in_lanes<Lane>(a, b, [](int x, int y) __attribute__((device)) { return expression; }); \
  }
EACH(__vadd, unsigned, x + y)
EACH(__vsub, unsigned, x - y)
EACH(__vaddss, signed, fabricbench::saturated<Lane>(x + y))
EACH(__vaddus, unsigned, fabricbench::saturated<Lane>(x + y))
EACH(__vsubss, signed, fabricbench::saturated<Lane>(x - y))
EACH(__vsubus, unsigned, fabricbench::saturated<Lane>(x - y))
EACH(__vavgs, signed, (x + y + (x + y >= 0)) >> 1)
EACH(__vavgu, unsigned, (x + y + 1) >> 1)
EACH(__vhaddu, unsigned, (x + y) >> 1)
EACH(__vabsdiffs, signed, x > y ? x - y : y - x)
EACH(__vabsdiffu, unsigned, x > y ? x - y : y - x)
EACH(__vmaxs, signed, x > y ? x : y)
EACH(__vmaxu, unsigned, x > y ? x : y)
EACH(__vmins, signed, x < y ? x : y)
EACH(__vminu, unsigned, x < y ? x : y)
// Comparisons: all ones (cmp) or one (set) in each lane where they hold.
#define COMPARE(op, sign, expression)           \
  EACH(__vcmp##op, sign, (expression) ? -1 : 0) \
  EACH(__vset##op, sign, (expression) ? 1 : 0)
COMPARE(eq, unsigned, x == y)
COMPARE(ne, unsigned, x != y)
COMPARE(ges, signed, x >= y)
COMPARE(geu, unsigned, x >= y)
COMPARE(gts, signed, x > y)
COMPARE(gtu, unsigned, x > y)
COMPARE(les, signed, x <= y)
COMPARE(leu, unsigned, x <= y)
COMPARE(lts, signed, x < y)
COMPARE(ltu, unsigned, x < y)
#undef COMPARE

#define OF_ONE(name, binary, a, b)                                                       \
  FABRICBENCH_DEVICE unsigned int name##2(unsigned int word) { return binary##2(a, b); } \
  FABRICBENCH_DEVICE unsigned int name##4(unsigned int word) { return binary##4(a, b); }
OF_ONE(__vneg, __vsub, 0, word)
OF_ONE(__vnegss, __vsubss, 0, word)
OF_ONE(__vabs, __vabsdiffs, word, 0)
#undef OF_ONE
FABRICBENCH_DEVICE unsigned int __vabsss2(unsigned int word) { return __vmaxs2(word, __vnegss2(word)); }
FABRICBENCH_DEVICE unsigned int __vabsss4(unsigned int word) { return __vmaxs4(word, __vnegss4(word)); }

// Sums of absolute differences over the lanes.
FABRICBENCH_DEVICE unsigned int __vsads2(unsigned int a, unsigned int b) {
  const unsigned int each = __vabsdiffs2(a, b);
  return (each & 0xffff) + (each >> 16);
}
FABRICBENCH_DEVICE unsigned int __vsadu2(unsigned int a, unsigned int b) {
  const unsigned int each = __vabsdiffu2(a, b);
  return (each & 0xffff) + (each >> 16);
}
FABRICBENCH_DEVICE unsigned int __vsads4(unsigned int a, unsigned int b) {
  const unsigned int each = __vabsdiffs4(a, b);
  return (each & 0xff) + (each >> 8 & 0xff) + (each >> 16 & 0xff) + (each >> 24);
}
FABRICBENCH_DEVICE unsigned int __vsadu4(unsigned int a, unsigned int b) {
  const unsigned int each = __vabsdiffu4(a, b);
  return (each & 0xff) + (each >> 8 & 0xff) + (each >> 16 & 0xff) + (each >> 24);
}
#undef EACH

// Minima and maxima of three, of a sum, clamped at zero (relu), and with the answer which one it was.
namespace fabricbench {

#define OF_THREE(name, expression)                       \
  struct name {                                          \
    template <class T>                                   \
    FABRICBENCH_BOTH T operator()(T a, T b, T c) const { \
      return expression;                                 \
    }                                                    \
  };
OF_THREE(Max3, (a > b ? a : b) > c ? (a > b ? a : b) : c)
OF_THREE(Min3, (a < b ? a : b) < c ? (a < b ? a : b) : c)
#undef OF_THREE
// The sum wraps like the lane's type.
template <class Lane, class T>
FABRICBENCH_BOTH T wrapped_sum(T a, T b) {
  return static_cast<T>(static_cast<Lane>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)));
}

}  // namespace fabricbench

#define MIN_MAX3(best, pick, op, or_equal)                                                                   \
  FABRICBENCH_BOTH int __vi##best##3_s32(int a, int b, int c) { return fabricbench::pick()(a, b, c); }       \
  FABRICBENCH_BOTH unsigned int __vi##best##3_u32(unsigned int a, unsigned int b, unsigned int c) {          \
    return fabricbench::pick()(a, b, c);                                                                     \
  }                                                                                                          \
  FABRICBENCH_BOTH int __vi##best##3_s32_relu(int a, int b, int c) {                                         \
    const int r = fabricbench::pick()(a, b, c);                                                              \
    return r > 0 ? r : 0;                                                                                    \
  }                                                                                                          \
  FABRICBENCH_BOTH int __vi##best##_s32_relu(int a, int b) {                                                 \
    const int r = a op b ? a : b;                                                                            \
    return r > 0 ? r : 0;                                                                                    \
  }                                                                                                          \
  FABRICBENCH_BOTH int __viadd##best##_s32(int a, int b, int c) {                                            \
    const int s = fabricbench::wrapped_sum<int>(a, b);                                                       \
    return s op c ? s : c;                                                                                   \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __viadd##best##_u32(unsigned int a, unsigned int b, unsigned int c) {        \
    return a + b op c ? a + b : c;                                                                           \
  }                                                                                                          \
  FABRICBENCH_BOTH int __viadd##best##_s32_relu(int a, int b, int c) {                                       \
    const int r = __viadd##best##_s32(a, b, c);                                                              \
    return r > 0 ? r : 0;                                                                                    \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vi##best##3_s16x2(unsigned int a, unsigned int b, unsigned int c) {        \
    return fabricbench::in_lanes<short>(a, b, c, fabricbench::pick());                                       \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vi##best##3_u16x2(unsigned int a, unsigned int b, unsigned int c) {        \
    return fabricbench::in_lanes<unsigned short>(a, b, c, fabricbench::pick());                              \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vi##best##3_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) {   \
    return fabricbench::in_lanes<short>(__vi##best##3_s16x2(a, b, c), 0, 0, fabricbench::Max3());            \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vi##best##_s16x2_relu(unsigned int a, unsigned int b) {                    \
    return __vi##best##3_s16x2_relu(a, b, b);                                                                \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __viadd##best##_s16x2(unsigned int a, unsigned int b, unsigned int c) {      \
    const unsigned int s = ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);                \
    return __vi##best##3_s16x2(s, c, c);                                                                     \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __viadd##best##_u16x2(unsigned int a, unsigned int b, unsigned int c) {      \
    const unsigned int s = ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);                \
    return __vi##best##3_u16x2(s, c, c);                                                                     \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __viadd##best##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
    return __vi##best##3_s16x2_relu(__viadd##best##_s16x2(a, b, c), __viadd##best##_s16x2(a, b, c),          \
                                    __viadd##best##_s16x2(a, b, c));                                         \
  }                                                                                                          \
  FABRICBENCH_BOTH int __vib##best##_s32(int a, int b, bool* first) {                                        \
    *first = a or_equal b;                                                                                   \
    return *first ? a : b;                                                                                   \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vib##best##_u32(unsigned int a, unsigned int b, bool* first) {             \
    *first = a or_equal b;                                                                                   \
    return *first ? a : b;                                                                                   \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vib##best##_s16x2(unsigned int a, unsigned int b, bool* first_high,        \
                                                    bool* first_low) {                                       \
    *first_high = static_cast<short>(a >> 16) or_equal static_cast<short>(b >> 16);                          \
    *first_low = static_cast<short>(a) or_equal static_cast<short>(b);                                       \
    return ((*first_high ? a : b) & 0xffff0000u) | ((*first_low ? a : b) & 0xffffu);                         \
  }                                                                                                          \
  FABRICBENCH_BOTH unsigned int __vib##best##_u16x2(unsigned int a, unsigned int b, bool* first_high,        \
                                                    bool* first_low) {                                       \
    *first_high = (a >> 16) or_equal(b >> 16);                                                               \
    *first_low = (a & 0xffff) or_equal(b & 0xffff);                                                          \
    return ((*first_high ? a : b) & 0xffff0000u) | ((*first_low ? a : b) & 0xffffu);                         \
  }
MIN_MAX3(max, Max3, >, >=)
MIN_MAX3(min, Min3, <, <=)
#undef MIN_MAX3
