// __nv_bfloat16 and __nv_bfloat162: arithmetic, comparison and conversion.
#include <cuda_bf16.h>

#include "narrow_floats.h"

// run: bf16_conversions grid=1 block=64 shared=0
// in:  f32[64] = random 31
// out: u16[192]
extern "C" __global__ void bf16_conversions(const float* in, unsigned short* out, int n) {
  const float x = in[threadIdx.x] * 70000.0f;
  unsigned short* r = out + 3 * threadIdx.x;
  r[0] = __bfloat16_as_ushort(__float2bfloat16(x));
  r[1] = __bfloat16_as_ushort(__float2bfloat16_rn(in[threadIdx.x] * 1e-6f));
  r[2] = __bfloat16_as_ushort(__float2bfloat16(__bfloat162float(__int2bfloat16_rn(int(x)))));
}
extern "C" void expect_bf16_conversions(const float* in, unsigned short* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[3 * i] = __bfloat16_as_ushort(__nv_bfloat16(in[i] * 70000.0f));
    out[3 * i + 1] = __bfloat16_as_ushort(__nv_bfloat16(in[i] * 1e-6f));
    out[3 * i + 2] = __bfloat16_as_ushort(__nv_bfloat16(double(int(in[i] * 70000.0f))));
  }
}

// run: bf16_scalars grid=1 block=64 shared=0
// in:  f32[64] = random 32
// out: u16[1024]
extern "C" __global__ void bf16_scalars(const float* in, unsigned short* out, int n) {
  const int i = int(threadIdx.x);
  scalar_operations(__nv_bfloat16(in[i]), __nv_bfloat16(in[(i + 5) % n]), __nv_bfloat16(in[(i + 9) % n]),
                    reinterpret_cast<__nv_bfloat16*>(out) + 16 * i);
}
extern "C" void expect_bf16_scalars(const float* in, unsigned short* out, int n) {
  for (int i = 0; i < n; ++i) {
    scalar_operations(__nv_bfloat16(in[i]), __nv_bfloat16(in[(i + 5) % n]), __nv_bfloat16(in[(i + 9) % n]),
                      reinterpret_cast<__nv_bfloat16*>(out) + 16 * i);
  }
}

// run: bf16_pairs grid=1 block=32 shared=0
// in:  f32[64] = random 33
// out: u16[512]
extern "C" __global__ void bf16_pairs(const float* in, unsigned short* out, int n) {
  const int i = int(threadIdx.x);
  const auto* pairs = reinterpret_cast<const float2*>(in);
  pair_operations<__nv_bfloat16>(__float22bfloat162_rn(pairs[i]), __float22bfloat162_rn(pairs[(i + 3) % 32]),
                                 __floats2bfloat162_rn(in[i], in[i + 1]),
                                 reinterpret_cast<__nv_bfloat162*>(out) + 8 * i);
}
extern "C" void expect_bf16_pairs(const float* in, unsigned short* out, int n) {
  for (int i = 0; i < n / 2; ++i) {
    const int j = (i + 3) % 32;
    pair_operations<__nv_bfloat16>(
        __floats2bfloat162_rn(in[2 * i], in[2 * i + 1]), __floats2bfloat162_rn(in[2 * j], in[2 * j + 1]),
        __floats2bfloat162_rn(in[i], in[i + 1]), reinterpret_cast<__nv_bfloat162*>(out) + 8 * i);
  }
}

// run: bf16_memory grid=1 block=32 shared=0
// in:  u16[64] = list 0x4000 0x4080 0x4000 0x4080
// out: u16[4]
// 2 and 2.25 as half, 2 and 4 as bfloat16: sums are exact in any order.
extern "C" __global__ void bf16_memory(const unsigned short* in, unsigned short* out, int n) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(in);
  const __nv_bfloat162 pair = __ldg(&pairs[threadIdx.x]);
  const __nv_bfloat162 other = __shfl_xor_sync(0xffffffff, pair, 2);
  if (threadIdx.x < 4) atomicAdd(reinterpret_cast<__nv_bfloat162*>(out), other);
  if (threadIdx.x < 2) atomicAdd(reinterpret_cast<__nv_bfloat16*>(out) + 2, __low2bfloat16(__lowhigh2highlow(other)));
  if (threadIdx.x == 31) reinterpret_cast<__nv_bfloat16*>(out)[3] = __high2bfloat16(pair);
}
extern "C" void expect_bf16_memory(const unsigned short* in, unsigned short* out, int n) {
  const auto* values = reinterpret_cast<const __nv_bfloat16*>(in);
  auto* sums = reinterpret_cast<__nv_bfloat16*>(out);
  for (int i = 0; i < 4; ++i) {
    sums[0] = sums[0] + values[2 * (i ^ 2)];
    sums[1] = sums[1] + values[2 * (i ^ 2) + 1];
  }
  for (int i = 0; i < 2; ++i) sums[2] = sums[2] + values[2 * (i ^ 2) + 1];
  sums[3] = values[63];
}

// run: bf16_to_floats grid=1 block=32 shared=0
// in:  u16[64] = random 34
// out: f32[96]
// Without the upper bit of the exponent: no NaN and no infinity.
extern "C" __global__ void bf16_to_floats(const unsigned short* in, float* out, int n) {
  __nv_bfloat162 pair = reinterpret_cast<const __nv_bfloat162*>(in)[threadIdx.x];
  pair.x = __ushort_as_bfloat16(__bfloat16_as_ushort(pair.x) & 0xbfff);
  pair.y = __ushort_as_bfloat16(__bfloat16_as_ushort(pair.y) & 0xbfff);
  const float2 v = __bfloat1622float2(pair);
  out[3 * threadIdx.x] = v.x;
  out[3 * threadIdx.x + 1] = v.y;
  out[3 * threadIdx.x + 2] = __low2float(pair) - __high2float(pair);
}
extern "C" void expect_bf16_to_floats(const unsigned short* in, float* out, int n) {
  for (int i = 0; i < n / 2; ++i) {
    for (int k = 0; k < 2; ++k) out[3 * i + k] = float(__ushort_as_bfloat16(in[2 * i + k] & 0xbfff));
    out[3 * i + 2] = out[3 * i] - out[3 * i + 1];
  }
}

// run: bf16_constants grid=1 block=1 shared=0
// in:  u16[1] = const 0
// out: u16[7]
// expect: list 0x7f80 0x7fff 1 0x7f7f 0x8000 0 0x3f80
extern "C" __global__ void bf16_constants(const unsigned short* in, unsigned short* out, int n) {
  out[0] = __bfloat16_as_ushort(CUDART_INF_BF16);
  out[1] = __bfloat16_as_ushort(CUDART_NAN_BF16);
  out[2] = __bfloat16_as_ushort(CUDART_MIN_DENORM_BF16);
  out[3] = __bfloat16_as_ushort(CUDART_MAX_NORMAL_BF16);
  out[4] = __bfloat16_as_ushort(CUDART_NEG_ZERO_BF16);
  out[5] = __bfloat16_as_ushort(CUDART_ZERO_BF16);
  out[6] = __bfloat16_as_ushort(CUDART_ONE_BF16);
}
