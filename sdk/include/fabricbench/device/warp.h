// Warp votes, matches, reductions and shuffles. Half-precision shuffles live with their types.
#pragma once
#include "fabricbench/language.h"

FABRICBENCH_DEVICE unsigned int __activemask() { return __nvvm_activemask(); }
FABRICBENCH_DEVICE unsigned int __lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
FABRICBENCH_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
FABRICBENCH_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
FABRICBENCH_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate); }
FABRICBENCH_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate);
}
FABRICBENCH_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  return __nvvm_fns(mask, base, offset);
}

// The signed view of a sum, minimum or maximum differs, that of bit operations does not exist in CUDA.
#define REDUCE(name, type, builtin)                                                 \
  FABRICBENCH_DEVICE type __reduce_##name##_sync(unsigned int mask, type v) {       \
    return static_cast<type>(builtin(static_cast<int>(v), static_cast<int>(mask))); \
  }
REDUCE(add, unsigned int, __nvvm_redux_sync_add)
REDUCE(add, int, __nvvm_redux_sync_add)
REDUCE(min, unsigned int, __nvvm_redux_sync_umin)
REDUCE(min, int, __nvvm_redux_sync_min)
REDUCE(max, unsigned int, __nvvm_redux_sync_umax)
REDUCE(max, int, __nvvm_redux_sync_max)
REDUCE(and, unsigned int, __nvvm_redux_sync_and)
REDUCE(or, unsigned int, __nvvm_redux_sync_or)
REDUCE(xor, unsigned int, __nvvm_redux_sync_xor)
#undef REDUCE

#define MATCH(type, bits, width)                                                                    \
  FABRICBENCH_DEVICE unsigned int __match_any_sync(unsigned int mask, type value) {                 \
    return __nvvm_match_any_sync_i##width(mask, __builtin_bit_cast(bits, value));                   \
  }                                                                                                 \
  FABRICBENCH_DEVICE unsigned int __match_all_sync(unsigned int mask, type value, int* predicate) { \
    return __nvvm_match_all_sync_i##width##p(mask, __builtin_bit_cast(bits, value), predicate);     \
  }
MATCH(unsigned int, unsigned int, 32)
MATCH(int, unsigned int, 32)
MATCH(float, unsigned int, 32)
MATCH(unsigned long, unsigned long long, 64)
MATCH(long, unsigned long long, 64)
MATCH(unsigned long long, unsigned long long, 64)
MATCH(long long, unsigned long long, 64)
MATCH(double, unsigned long long, 64)
#undef MATCH

namespace fabricbench {

// shfl's third operand: the segment mask in bits 8–12, the clamp (31, or 0 for .up) in bits 0–4.
FABRICBENCH_DEVICE int shuffle_control(int width, int clamp) { return ((32 - width) << 8) | clamp; }

#define SHUFFLE(mode, clamp)                                                                                           \
  template <class T>                                                                                                   \
  FABRICBENCH_DEVICE T shuffle_##mode(unsigned int mask, T value, int lane, int width) {                               \
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);                                                 \
    const int control = shuffle_control(width, clamp);                                                                 \
    if constexpr (sizeof(T) == 2) {                                                                                    \
      const int bits = __builtin_bit_cast(unsigned short, value);                                                      \
      return __builtin_bit_cast(                                                                                       \
          T, static_cast<unsigned short>(__nvvm_shfl_sync_##mode##_i32(mask, bits, lane, control)));                   \
    } else if constexpr (sizeof(T) == 4) {                                                                             \
      const int bits = __builtin_bit_cast(int, value);                                                                 \
      return __builtin_bit_cast(T, __nvvm_shfl_sync_##mode##_i32(mask, bits, lane, control));                          \
    } else {                                                                                                           \
      const auto bits = __builtin_bit_cast(unsigned long long, value);                                                 \
      const int low = __nvvm_shfl_sync_##mode##_i32(mask, static_cast<int>(bits), lane, control);                      \
      const int high = __nvvm_shfl_sync_##mode##_i32(mask, static_cast<int>(bits >> 32), lane, control);               \
      return __builtin_bit_cast(                                                                                       \
          T, static_cast<unsigned long long>(static_cast<unsigned int>(high)) << 32 | static_cast<unsigned int>(low)); \
    }                                                                                                                  \
  }
SHUFFLE(idx, 31)
SHUFFLE(up, 0)
SHUFFLE(down, 31)
SHUFFLE(bfly, 31)
#undef SHUFFLE

}  // namespace fabricbench

// The four public shuffles of one type; narrow float headers expand it for theirs.
#define FABRICBENCH_SHUFFLES(type)                                                                              \
  FABRICBENCH_DEVICE type __shfl_sync(unsigned int mask, type value, int lane, int width = 32) {                \
    return fabricbench::shuffle_idx(mask, value, lane, width);                                                  \
  }                                                                                                             \
  FABRICBENCH_DEVICE type __shfl_up_sync(unsigned int mask, type value, unsigned int delta, int width = 32) {   \
    return fabricbench::shuffle_up(mask, value, static_cast<int>(delta), width);                                \
  }                                                                                                             \
  FABRICBENCH_DEVICE type __shfl_down_sync(unsigned int mask, type value, unsigned int delta, int width = 32) { \
    return fabricbench::shuffle_down(mask, value, static_cast<int>(delta), width);                              \
  }                                                                                                             \
  FABRICBENCH_DEVICE type __shfl_xor_sync(unsigned int mask, type value, int lane_mask, int width = 32) {       \
    return fabricbench::shuffle_bfly(mask, value, lane_mask, width);                                            \
  }
FABRICBENCH_SHUFFLES(int)
FABRICBENCH_SHUFFLES(unsigned int)
FABRICBENCH_SHUFFLES(long)
FABRICBENCH_SHUFFLES(unsigned long)
FABRICBENCH_SHUFFLES(long long)
FABRICBENCH_SHUFFLES(unsigned long long)
FABRICBENCH_SHUFFLES(float)
FABRICBENCH_SHUFFLES(double)
