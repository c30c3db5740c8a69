// Integer intrinsics: bit counting and permuting, funnel shifts, high products, dot products.
#pragma once
#include "vector_types.h"

FABRICBENCH_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
FABRICBENCH_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
FABRICBENCH_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
FABRICBENCH_DEVICE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
FABRICBENCH_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
FABRICBENCH_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
FABRICBENCH_DEVICE unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
FABRICBENCH_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
FABRICBENCH_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  return static_cast<unsigned int>(__nvvm_prmt(static_cast<int>(x), static_cast<int>(y), static_cast<int>(selector)));
}
FABRICBENCH_BOTH unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
FABRICBENCH_BOTH unsigned int __nv_bswap32(unsigned int x) { return __builtin_bswap32(x); }
FABRICBENCH_BOTH unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }

#define FUNNEL_SHIFT(name, ptx)                                                                   \
  FABRICBENCH_DEVICE unsigned int name(unsigned int low, unsigned int high, unsigned int shift) { \
    unsigned int result;                                                                          \
    asm(ptx " %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift));                 \
    return result;                                                                                \
  }
FUNNEL_SHIFT(__funnelshift_l, "shf.l.wrap.b32")
FUNNEL_SHIFT(__funnelshift_lc, "shf.l.clamp.b32")
FUNNEL_SHIFT(__funnelshift_r, "shf.r.wrap.b32")
FUNNEL_SHIFT(__funnelshift_rc, "shf.r.clamp.b32")
#undef FUNNEL_SHIFT

FABRICBENCH_DEVICE int __mul24(int x, int y) { return __nvvm_mul24_i(x, y); }
FABRICBENCH_DEVICE unsigned int __umul24(unsigned int x, unsigned int y) { return __nvvm_mul24_ui(x, y); }
FABRICBENCH_DEVICE int __mulhi(int x, int y) { return __nvvm_mulhi_i(x, y); }
FABRICBENCH_DEVICE unsigned int __umulhi(unsigned int x, unsigned int y) { return __nvvm_mulhi_ui(x, y); }
FABRICBENCH_DEVICE long long __mul64hi(long long x, long long y) { return __nvvm_mulhi_ll(x, y); }
FABRICBENCH_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return __nvvm_mulhi_ull(x, y);
}
FABRICBENCH_DEVICE unsigned int __sad(int x, int y, unsigned int z) {
  return static_cast<unsigned int>(__nvvm_sad_i(x, y, static_cast<int>(z)));
}
FABRICBENCH_DEVICE unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return __nvvm_sad_ui(x, y, z);
}
// Averages that cannot overflow: rounded down, and rounded up.
FABRICBENCH_DEVICE int __hadd(int x, int y) { return (x & y) + ((x ^ y) >> 1); }
FABRICBENCH_DEVICE int __rhadd(int x, int y) { return (x | y) - ((x ^ y) >> 1); }
FABRICBENCH_DEVICE unsigned int __uhadd(unsigned int x, unsigned int y) { return (x & y) + ((x ^ y) >> 1); }
FABRICBENCH_DEVICE unsigned int __urhadd(unsigned int x, unsigned int y) { return (x | y) - ((x ^ y) >> 1); }

// Dot products of packed bytes (dp4a) and of packed shorts with bytes (dp2a), added to c.
#define DOT(name, ptx, wide, narrow, result)                                                                          \
  FABRICBENCH_DEVICE result name(wide a, narrow b, result c) {                                                        \
    result d;                                                                                                         \
    asm(ptx " %0, %1, %2, %3;" : "=r"(d) : "r"(__builtin_bit_cast(int, a)), "r"(__builtin_bit_cast(int, b)), "r"(c)); \
    return d;                                                                                                         \
  }
DOT(__dp4a, "dp4a.s32.s32", int, int, int)
DOT(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int, unsigned int)
DOT(__dp4a, "dp4a.s32.s32", char4, char4, int)
DOT(__dp4a, "dp4a.u32.u32", uchar4, uchar4, unsigned int)
DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, int, int)
DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int, unsigned int)
DOT(__dp2a_lo, "dp2a.lo.s32.s32", short2, char4, int)
DOT(__dp2a_lo, "dp2a.lo.u32.u32", ushort2, uchar4, unsigned int)
DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, int, int)
DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int, unsigned int)
DOT(__dp2a_hi, "dp2a.hi.s32.s32", short2, char4, int)
DOT(__dp2a_hi, "dp2a.hi.u32.u32", ushort2, uchar4, unsigned int)
#undef DOT
