// 8-bit floats: conversions from and to float, half and bfloat16.
#include <cuda_fp8.h>

// run: fp8_from_float grid=1 block=64 shared=0
// in:  f32[64] = random 41
// out: u8[512]
__host__ __device__ static void narrow(float x, float y, unsigned char* r) {
  r[0] = __nv_cvt_float_to_fp8(x * 600, __NV_SATFINITE, __NV_E4M3);
  r[1] = __nv_cvt_float_to_fp8(x * 70000, __NV_SATFINITE, __NV_E5M2);
  const float2 pair = make_float2(x, y * 0.01f);
  const auto a = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
  const auto b = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E5M2);
  r[2] = static_cast<unsigned char>(a);
  r[3] = static_cast<unsigned char>(a >> 8);
  r[4] = static_cast<unsigned char>(b);
  r[5] = static_cast<unsigned char>(b >> 8);
  r[6] = __nv_fp8_e4m3(__half(x)).__x;
  r[7] = __nv_fp8_e5m2(__nv_bfloat16(y)).__x;
}
extern "C" __global__ void fp8_from_float(const float* in, unsigned char* out, int n) {
  narrow(in[threadIdx.x], in[(threadIdx.x + 1) % n], out + 8 * threadIdx.x);
}
extern "C" void expect_fp8_from_float(const float* in, unsigned char* out, int n) {
  for (int i = 0; i < n; ++i) narrow(in[i], in[(i + 1) % n], out + 8 * i);
}

// run: fp8_to_float grid=1 block=252 shared=0
// in:  u8[252] = iota
// out: f32[504]
// All codes but the NaNs at the end, whose bits are free.
__host__ __device__ static void widen(unsigned char code, float* r) {
  __nv_fp8_e4m3 x;
  __nv_fp8_e5m2 y;
  x.__x = code % 127 + code / 127 * 128;
  y.__x = code % 124 + code / 124 % 2 * 128;
  r[0] = static_cast<float>(x);
  r[1] = static_cast<float>(y);
}
extern "C" __global__ void fp8_to_float(const unsigned char* in, float* out, int n) {
  widen(in[threadIdx.x], out + 2 * threadIdx.x);
}
extern "C" void expect_fp8_to_float(const unsigned char* in, float* out, int n) {
  for (int i = 0; i < n; ++i) widen(in[i], out + 2 * i);
}

// run: fp8_quads grid=1 block=16 shared=0
// in:  f32[64] = random 42
// out: f32[64]
__host__ __device__ static float4 there_and_back(float4 v) { return static_cast<float4>(__nv_fp8x4_e4m3(v)); }
extern "C" __global__ void fp8_quads(const float* in, float* out, int n) {
  reinterpret_cast<float4*>(out)[threadIdx.x] = there_and_back(reinterpret_cast<const float4*>(in)[threadIdx.x]);
}
extern "C" void expect_fp8_quads(const float* in, float* out, int n) {
  for (int i = 0; i < n; i += 4) {
    const float4 v = there_and_back(make_float4(in[i], in[i + 1], in[i + 2], in[i + 3]));
    out[i] = v.x;
    out[i + 1] = v.y;
    out[i + 2] = v.z;
    out[i + 3] = v.w;
  }
}
