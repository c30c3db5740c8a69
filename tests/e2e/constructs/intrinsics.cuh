// Functions that nvcc declares without any include.

// construct: popc_clz_ffs_brev
__device__ int value(unsigned t) { return __popc(t) + __clz(int(t)) * 2 + __ffs(int(t)) * 3 + (__brev(t) >> 27) + __popcll(t) + __clzll(t) + __ffsll(t); }

// construct: byte_perm
__device__ unsigned value(unsigned t) { return __byte_perm(0x01020304, 0x05060708 + t, 0x5140); }

// construct: funnel_shifts
__device__ unsigned value(unsigned t) { return __funnelshift_l(7, 9, t) + __funnelshift_r(7, 9, t) + __funnelshift_lc(7, 9, t + 20) + __funnelshift_rc(7, 9, t + 20); }

// construct: high_products
__device__ long long value(unsigned t) { return __umulhi(t << 28, 0x1234567) + __mulhi(int(t) << 26, -5) + (long long)__umul64hi(~0ull, t) + __mul64hi(-1, t) + __mul24(t, 3) + __umul24(t, 5); }

// construct: dot_products
__device__ int value(unsigned t) { return __dp4a(int(t * 0x01010101), 0x01020304, 5) + __dp2a_lo(int(t), 0x0102, 1) + __dp2a_hi(int(t), 0x01020304, 1) + __dp4a(t, 3u, 1u); }

// construct: sums_of_differences
__device__ int value(unsigned t) { return __sad(int(t), 20, 1u) + __usad(t, 3u, 2u) + __hadd(int(t), 5) + __rhadd(int(t), 4) + __uhadd(t, 7u) + __urhadd(t, 6u); }

// construct: simd_add_sub
__device__ unsigned value(unsigned t) { unsigned x = t * 0x01234567u + 0x80ff7f01u; return __vadd2(x, 0x8001ffffu) ^ __vadd4(x, 0x80ff7f01u) ^ __vsub2(x, 0x00017fffu) ^ __vsub4(x, 0x01020304u); }

// construct: simd_saturating
__device__ unsigned value(unsigned t) { unsigned x = t * 0x11234567u + 0x80ff7f01u, y = 0x7f80ff01u; return __vaddss2(x, y) ^ __vaddss4(x, y) * 3 ^ __vaddus2(x, y) * 5 ^ __vaddus4(x, y) * 7 ^ __vsubss2(x, y) * 9 ^ __vsubss4(x, y) * 11 ^ __vsubus2(x, y) * 13 ^ __vsubus4(x, y) * 17; }

// construct: simd_averages
__device__ unsigned value(unsigned t) { unsigned x = t * 0x91234567u + 0x80ff7f01u, y = 0x7f80ff02u; return __vavgs2(x, y) ^ __vavgs4(x, y) * 3 ^ __vavgu2(x, y) * 5 ^ __vavgu4(x, y) * 7 ^ __vhaddu2(x, y) * 9 ^ __vhaddu4(x, y) * 11; }

// construct: simd_absolute
// run: ours
__device__ unsigned value(unsigned t) { unsigned x = t * 0x91234567u + 0x80ff8001u, y = 0x7f80ff02u; return __vabs2(x) ^ __vabs4(x) * 3 ^ __vabsss2(x) * 5 ^ __vabsss4(x) * 7 ^ __vabsdiffs2(x, y) * 9 ^ __vabsdiffs4(x, y) * 11 ^ __vabsdiffu2(x, y) * 13 ^ __vabsdiffu4(x, y) * 15 ^ __vneg2(x) * 17 ^ __vneg4(x) * 19 ^ __vnegss2(x) * 21 ^ __vnegss4(x) * 23; }

// construct: simd_compare
__device__ unsigned value(unsigned t) { unsigned x = t * 0x91234567u + 0x80ff8001u, y = 0x7f80ff01u; return __vcmpeq2(x, y) ^ __vcmpne4(x, y) * 3 ^ __vcmpges2(x, y) * 5 ^ __vcmpgeu4(x, y) * 7 ^ __vcmpgts4(x, y) * 9 ^ __vcmpgtu2(x, y) * 11 ^ __vcmples4(x, y) * 13 ^ __vcmpleu2(x, y) * 15 ^ __vcmplts2(x, y) * 17 ^ __vcmpltu4(x, y) * 19; }

// construct: simd_set
__device__ unsigned value(unsigned t) { unsigned x = t * 0x91234567u + 0x80ff8001u, y = 0x7f80ff01u; return __vseteq4(x, y) ^ __vsetne2(x, y) * 3 ^ __vsetges4(x, y) * 5 ^ __vsetgeu2(x, y) * 7 ^ __vsetgts2(x, y) * 9 ^ __vsetltu4(x, y) * 11; }

// construct: simd_min_max_sad
// run: ours
__device__ unsigned value(unsigned t) { unsigned x = t * 0x91234567u + 0x80ff8001u, y = 0x7f80ff01u; return __vmaxs2(x, y) ^ __vmaxs4(x, y) * 3 ^ __vmaxu2(x, y) * 5 ^ __vmaxu4(x, y) * 7 ^ __vmins2(x, y) * 9 ^ __vmins4(x, y) * 11 ^ __vminu2(x, y) * 13 ^ __vminu4(x, y) * 15 ^ __vsads2(x, y) * 17 ^ __vsads4(x, y) * 19 ^ __vsadu2(x, y) * 21 ^ __vsadu4(x, y) * 23; }

// construct: three_operand_min_max
__device__ int value(unsigned t) { return __vimax3_s32(int(t), 5, -3) + __vimin3_u32(t, 5u, 9u) + __viaddmax_s32(int(t), -20, -4) + __viaddmin_u32(t, 3u, 10u) + __vimax_s32_relu(-int(t), -3) + __vimin3_s32_relu(int(t), 4, 9) + __viaddmax_s32_relu(-int(t), 2, -9); }

// construct: three_operand_halves
__device__ unsigned value(unsigned t) { unsigned x = t * 0x91234567u, y = 0x8001fff0u, z = 0x7ffe0003u; return __vimax3_s16x2(x, y, z) ^ __vimin3_u16x2(x, y, z) * 3 ^ __viaddmax_s16x2(x, y, z) * 5 ^ __viaddmin_u16x2(x, y, z) * 7 ^ __vimax3_s16x2_relu(x, y, z) * 9 ^ __viaddmin_s16x2_relu(x, y, z) * 11; }

// construct: min_max_with_predicate
__device__ int value(unsigned t) { bool a, b, c; int r = __vibmax_s32(int(t), 9, &a) + __vibmin_u32(t, 9u, &b); unsigned w = __vibmax_s16x2(t * 0x10001u, 0x00070009u, &a, &c); return r + a * 1000 + b * 2000 + c * 4000 + int(w & 0xff); }

// construct: float_conversions
__device__ long long value(unsigned t) { float x = t * 1.37f - 9; return __float2int_rn(x) + __float2int_rz(x) * 3 + __float2int_ru(x) * 5 + __float2uint_rd(x + 10) + __float2ll_rn(x) + __double2int_rz(x) + __double2ll_ru(x); }

// construct: integer_to_float
__device__ unsigned value(unsigned t) { return __float_as_uint(__int2float_rn(int(t) * 16777217)) ^ __float_as_uint(__uint2float_ru(t * 16777217u)) ^ __float_as_uint(__ll2float_rz(t * 1234567891011ll)) ^ unsigned(__double_as_longlong(__ll2double_rd(t * 0x123456789abcdefll))); }

// construct: bit_casts
__device__ long long value(unsigned t) { return __float_as_int(t * 0.1f) + __double_as_longlong(t * 0.1) + (long long)__int_as_float(0x40490fdb) + (long long)__longlong_as_double(0x4010000000000000) + __double2hiint(2.5) + __double2loint(0.1) + (long long)__hiloint2double(0x40100000, 0); }

// construct: rounded_arithmetic
__device__ unsigned value(unsigned t) { float x = t + 0.1f; return __float_as_uint(__fadd_rz(x, 0.3f)) ^ __float_as_uint(__fmul_ru(x, 0.7f)) ^ __float_as_uint(__fdiv_rn(x, 3.0f)) ^ __float_as_uint(__fmaf_rd(x, 0.9f, 0.1f)) ^ __float_as_uint(__fsqrt_rn(x)) ^ __float_as_uint(__frcp_rn(x)) ^ unsigned(__double_as_longlong(__dadd_ru(x, 0.1))); }

// construct: saturate_and_min_max
__device__ int value(unsigned t) { return int(__saturatef(t * 0.1f) * 100) + min(int(t), 5) + max(3u, t) + int(fminf(t, 4.5f) * 2) + int(fmax(t, 3.5)) + abs(-int(t)) + umin(t, 2u) + int(llmax(t, 9ll)); }

// construct: exact_math
__device__ long long value(unsigned t) { double x = t + 0.5; return (long long)(sqrt(x) * 1e6) + (long long)(floor(x) + ceil(x) + trunc(x) + rint(x) + round(x)) + (long long)(fabs(-x)) + (long long)(fmod(x, 3.0) * 4) + llrint(x) + lround(x); }

// construct: approximate_math
__device__ int value(unsigned t) { float x = t * 0.25f + 0.5f; return int(__expf(x) * 10) + int(__logf(x) * 100) + int(__sinf(x) * 100) + int(__cosf(x) * 100) + int(__powf(x, 1.5f) * 10) + int(__fdividef(x, 3.f) * 100) + int(rsqrtf(x) * 1000) + int(__exp10f(0.1f * x) * 10); }

// construct: std_math_overloads
#include <cmath>
__device__ int value(unsigned t) { return int(std::sqrt(float(t)) * 100) + int(std::exp(0.1f * t) * 10) + int(std::pow(1.5, double(t & 7)) * 10) + std::isnan(float(t)) + std::isfinite(1.0) + int(std::abs(-2.5f) * 2); }

// construct: sincos_and_pi
__device__ int value(unsigned t) { float s, c; sincosf(t * 0.1f, &s, &c); double ds, dc; sincospi(t * 0.125, &ds, &dc); return int(s * 1000) + int(c * 1000) + int(ds * 1000) + int(sinpif(0.25f) * 1000); }

// construct: isnan_isinf_signbit
__device__ int value(unsigned t) { float x = t ? 1.0f / 0.0f : 0.0f; return isinf(x) * 1 + isnan(x - x) * 2 + signbit(-1.0f) * 4 + isfinite(x) * 8; }

// construct: copysign_ldexp_frexp
__device__ int value(unsigned t) { int e; float m = frexpf(t + 3.0f, &e); double whole; return int(copysignf(t, -1.0f)) + int(ldexpf(1.5f, t & 7)) + e * 100 + int(m * 64) + int(modf(2.75, &whole) * 100 + whole) + int(fdimf(5.0f, t)) + ilogbf(t + 1.0f); }

// construct: integer_division_by_constants
__device__ int value(unsigned t) { return int(t * 1000003) / 7 - int(t) % 5 + (t * 77u) / 11u; }

// construct: byte_swap
__device__ unsigned value(unsigned t) { return __nv_bswap32(t * 0x01020304u) ^ __nv_bswap16(static_cast<unsigned short>(t)) ^ unsigned(__nv_bswap64(t)); }

// construct: ballot_any_all
__device__ int value(unsigned t) { return __ballot_sync(~0u, t & 1) + __any_sync(~0u, t == 3) + __all_sync(~0u, t < 32) + __popc(__activemask()); }

// construct: shuffles
__device__ int value(unsigned t) { return __shfl_sync(~0u, int(t), 5) + __shfl_up_sync(~0u, int(t), 2) * 3 + __shfl_down_sync(~0u, int(t), 3) * 5 + __shfl_xor_sync(~0u, int(t), 1) * 7 + __shfl_sync(~0u, int(t), 1, 8) * 11; }

// construct: shuffles_of_types
__device__ long long value(unsigned t) { return (long long)__shfl_xor_sync(~0u, t * 1.5, 1) + __shfl_down_sync(~0u, t * 10000000000ll, 1) + (long long)__shfl_sync(~0u, float(t), 3) + (long long)__shfl_up_sync(~0u, (unsigned long)t, 1); }

// construct: matches
__device__ int value(unsigned t) { int all; unsigned m = __match_any_sync(~0u, t / 4) + __match_all_sync(~0u, 7ull, &all); return m + all; }

// construct: warp_reductions
__device__ int value(unsigned t) { return __reduce_add_sync(~0u, t) + __reduce_min_sync(~0u, int(t) - 5) + __reduce_max_sync(~0u, t) + __reduce_and_sync(~0u, t | 16) + __reduce_or_sync(~0u, t) + __reduce_xor_sync(~0u, t * 5); }

// construct: syncthreads_variants
__device__ int value(unsigned t) { __syncthreads(); return __syncthreads_count(t & 1) + __syncthreads_and(t < 32) + __syncthreads_or(t == 4); }

// construct: named_barriers
__device__ int value(unsigned) { __barrier_sync(1); __barrier_sync_count(2, 32); __syncwarp(); return 1; }

// construct: fences
__device__ int value(unsigned) { __threadfence_block(); __threadfence(); __threadfence_system(); return 1; }

// construct: clocks_and_sleep
__device__ int value(unsigned) { long long a = clock64(); clock_t b = clock(); __nanosleep(10); return clock64() >= a && b != 0; }

// construct: profiler_trigger
__device__ int value(unsigned) { __prof_trigger(3); return 1; }

// construct: address_space_queries
__device__ int global_word;
__device__ int value(unsigned) { __shared__ int s; int l; return __isGlobal(&global_word) * 1 + __isShared(&s) * 2 + __isLocal(&l) * 4 + __isGlobal(&s) * 8; }

// construct: address_conversions
__device__ int value(unsigned t) { __shared__ int s[32]; s[t] = t; size_t a = __cvta_generic_to_shared(&s[t]); return *static_cast<int*>(__cvta_shared_to_generic(a)); }

// construct: cached_loads
__device__ int data[64];
__device__ int value(unsigned t) { __stwt(&data[t], int(t)); return __ldcg(&data[t]) + __ldcs(&data[t]) + __ldca(&data[t]) + __ldcv(&data[t]) + __ldlu(&data[t]); }

// construct: cached_stores_of_vectors
__device__ float4 data[32];
__device__ int value(unsigned t) { __stcg(&data[t], make_float4(t, 1, 2, 3)); __stcs(&data[t], make_float4(t, 1, 2, 4)); __stwb(&data[t], make_float4(t, 1, 2, 5)); float4 v = __ldcg(&data[t]); return int(v.x + v.w); }

// construct: ldg_of_types
__device__ const double constants[2] = {1.5, 2.5};
__device__ const uint2 pairs[2] = {{1, 2}, {3, 4}};
__device__ int value(unsigned t) { return int(__ldg(&constants[t & 1]) * 2) + __ldg(&pairs[t & 1]).y; }

// construct: atomics_of_integers
__device__ unsigned words[12];
__device__ long long value(unsigned t) { atomicAdd(&words[0], t); atomicSub(&words[1], 1u); atomicMin(&words[2], t); atomicMax(&words[3], t); atomicAnd(&words[4], ~t); atomicOr(&words[5], t); atomicXor(&words[6], t); atomicInc(&words[7], 5u); atomicDec(&words[8], 9u); __syncwarp(); return words[0] + words[3] + words[5] * 3ll + words[6] + words[7] + words[8]; }

// construct: atomics_of_floats
__device__ float sum; __device__ double wide;
__device__ int value(unsigned t) { atomicAdd(&sum, float(t)); atomicAdd(&wide, 0.5); __syncwarp(); return int(sum) + int(wide); }

// construct: atomic_scopes
__device__ unsigned long long a; __device__ int b;
__device__ long long value(unsigned t) { atomicAdd_block(&a, 1ull); atomicAdd_system(&a, 2ull); atomicMax_system(&b, int(t)); atomicExch_block(&b, 7); __syncwarp(); return a + b; }

// construct: atomic_cas
__device__ unsigned word; __device__ unsigned short narrow; __device__ unsigned long long wide;
__device__ long long value(unsigned) { atomicCAS(&word, 0u, 5u); atomicCAS(&narrow, (unsigned short)0, (unsigned short)6); atomicCAS(&wide, 0ull, 7ull); __syncwarp(); return word + narrow + wide; }

// construct: atomics_of_vectors
__device__ float4 four; __device__ float2 two;
__device__ int value(unsigned) { atomicAdd(&four, make_float4(1, 2, 3, 4)); atomicAdd(&two, make_float2(1, 2)); __syncwarp(); return int(four.w + two.y); }

// construct: atomics_of_16_bytes
struct alignas(16) Entry { unsigned long long key, count; };
__device__ Entry entry;
__device__ long long value(unsigned) { Entry old = atomicCAS(&entry, Entry{0, 0}, Entry{7, 8}); atomicExch(&entry, Entry{9, 10}); __syncwarp(); return entry.count + (old.key == 0 || old.key == 7 || old.key == 9); }

// construct: nv_atomic_load_store
__device__ unsigned flag;
__device__ int value(unsigned) { __nv_atomic_store_n(&flag, 4u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM); unsigned x; __nv_atomic_load(&flag, &x, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE); return x + __nv_atomic_load_n(&flag, __NV_ATOMIC_RELAXED); }

// construct: nv_atomic_fetch
__device__ int word; __device__ float real;
__device__ int value(unsigned) { __nv_atomic_fetch_add(&word, 2, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE); __nv_atomic_fetch_or(&word, 0, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK); __nv_atomic_fetch_max(&word, 1, __NV_ATOMIC_SEQ_CST); __nv_atomic_fetch_add(&real, 1.0f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM); __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM); __syncwarp(); return word + int(real); }

// construct: nv_atomic_compare_exchange
__device__ unsigned long long word;
__device__ int value(unsigned) { unsigned long long e = 0; __nv_atomic_compare_exchange_n(&word, &e, 3ull, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE); __nv_atomic_exchange_n(&word, 3ull, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM); __syncwarp(); return word; }

// construct: nth_set_bit
__device__ int value(unsigned t) { return __fns(0xf0f0f0f0u, 0, int(t % 16) + 1); }

// construct: memory_functions
__device__ int value(unsigned t) { char a[8], b[8]; memset(a, t, 8); memcpy(b, a, 8); return b[2]; }

// construct: math_constants
#include <math_constants.h>
__device__ int value(unsigned) { return int(CUDART_PI_F * 1000) + int(CUDART_SQRT_TWO * 1000) + (CUDART_INF_F > 1e38f); }

// construct: vote_within_half_warp
__device__ int value(unsigned t) { return t < 16 ? __ballot_sync(0xffffu, t & 1) : __ballot_sync(0xffff0000u, t & 2); }

// construct: cluster_functions
__device__ int value(unsigned) { return __clusterSizeInBlocks() + __clusterRelativeBlockRank() + __clusterDimIsSpecified() + __clusterDim().x; }

// construct: own_declval_in_a_device_function
namespace own { template <class T> T&& declval() noexcept { static_assert(sizeof(T) != sizeof(T), "never evaluated"); } }
template <class E, class F> __device__ auto twice(E e, F f) -> decltype(f(own::declval<E>())) { using R = decltype(f(own::declval<E>())); R r = f(e); return r + r; }
__device__ int value(unsigned t) { return twice(int(t), [] __device__(int x) { return x * 3; }); }

// construct: macros_of_narrow_types
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#if defined(__CUDA_FP16_TYPES_EXIST__) && defined(__CUDA_BF16_TYPES_EXIST__) && defined(__CUDA_FP8_TYPES_EXIST__) && \
    defined(__CUDA_FP6_TYPES_EXIST__) && defined(__CUDA_FP4_TYPES_EXIST__)
__device__ int value(unsigned) { return 1; }
#endif

// construct: dependent_type_without_typename
struct Words { using Element = short; };
template <class T> __device__ int width(T words) { return int(sizeof(decltype(words)::Element)); }
__device__ int value(unsigned) { return width(Words{}); }

// construct: destructor_named_with_template
template <class T> struct Counted { int* count; __device__ ~Counted() { ++*count; } };
template <class T> __device__ void end(Counted<T>& c) { c.template ~Counted<T>(); }
__device__ int value(unsigned) { int n = 0; alignas(8) char room[sizeof(Counted<int>)]; auto& c = *new (room) Counted<int>{&n}; end(c); return n; }

// construct: shuffle_of_a_variable_that_one_lane_sets
__device__ unsigned shuffled(unsigned value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
__device__ int value(unsigned t) { __shared__ unsigned sum; sum = 0; __syncwarp(); unsigned old; if (t == 3) old = atomicAdd(&sum, 5u) + 1; old = shuffled(old, 3); __syncwarp(); return int(sum * 100 + old); }
// expect: 501
