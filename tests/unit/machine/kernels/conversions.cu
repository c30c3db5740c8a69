// Conversions with a rounding in the name, bit casts, and arithmetic with a rounding in the name.
#include <cmath>
#include <cstring>

// run: to_integers grid=1 block=16 shared=0
// in:  f32[16] = list -2.5 -1.5 -0.5 0.5 1.5 2.5 3.49999 1e10 -1e10 0.999999 -0.999999 100.25 -7.75 65536 0 2147483520
// out: i32[64]
extern "C" __global__ void to_integers(const float* in, int* out, int n) {
  const float x = in[threadIdx.x];
  int* r = out + 4 * threadIdx.x;
  r[0] = __float2int_rn(x);
  r[1] = __float2int_rz(x);
  r[2] = __float2int_ru(x);
  r[3] = __float2int_rd(x);
}
extern "C" void expect_to_integers(const float* in, int* out, int n) {
  auto clamp = [](double x) {
    return x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? int(-2147483648ll) : int(x);
  };
  for (int i = 0; i < n; ++i) {
    out[4 * i] = clamp(std::nearbyint(in[i]));
    out[4 * i + 1] = clamp(std::trunc(in[i]));
    out[4 * i + 2] = clamp(std::ceil(in[i]));
    out[4 * i + 3] = clamp(std::floor(in[i]));
  }
}

// run: casts grid=1 block=32 shared=0
// in:  f64[32] = random 12
// out: u64[96]
extern "C" __global__ void casts(const double* in, unsigned long long* out, int n) {
  const double x = in[threadIdx.x];
  unsigned long long* r = out + 3 * threadIdx.x;
  r[0] = (unsigned long long)__double_as_longlong(x) ^ __float_as_uint(__double2float_rn(x));
  r[1] = (unsigned long long)__double2ll_rz(x * 1e12) + (unsigned long long)__double2hiint(x);
  r[2] = __float_as_uint(__int2float_rn(__double2loint(x))) +
         (unsigned long long)__double_as_longlong(__hiloint2double(__double2loint(x), __double2hiint(x)));
}
extern "C" void expect_casts(const double* in, unsigned long long* out, int n) {
  for (int i = 0; i < n; ++i) {
    unsigned long long bits, swapped;
    unsigned narrow, converted;
    std::memcpy(&bits, &in[i], 8);
    const float f = float(in[i]);
    std::memcpy(&narrow, &f, 4);
    const float g = float(int(unsigned(bits)));
    std::memcpy(&converted, &g, 4);
    swapped = bits << 32 | bits >> 32;
    out[3 * i] = bits ^ narrow;
    out[3 * i + 1] = (unsigned long long)(long long)(in[i] * 1e12) + (unsigned long long)(long long)(int)(bits >> 32);
    out[3 * i + 2] = converted + swapped;
  }
}

// run: rounded grid=1 block=64 shared=0
// in:  f32[64] = random 13
// out: f32[512]
extern "C" __global__ void rounded(const float* in, float* out, int n) {
  const float x = in[threadIdx.x], y = in[(threadIdx.x + 7) % n], z = in[(threadIdx.x + 9) % n];
  float* r = out + 8 * threadIdx.x;
  r[0] = __fadd_rn(__fmul_rn(x, y), z);
  r[1] = __fmaf_rn(x, y, z);
  r[2] = __fdiv_rn(x, y);
  r[3] = __fsqrt_rn(x * x);
  r[4] = __frcp_rn(x);
  r[5] = __fadd_ru(x, y) >= __fadd_rd(x, y);
  r[6] = __saturatef(3 * x);
  r[7] = __fsub_rn(x, y);
}
extern "C" void expect_rounded(const float* in, float* out, int n) {
  for (int i = 0; i < n; ++i) {
    const float x = in[i], y = in[(i + 7) % n], z = in[(i + 9) % n];
    const volatile float product = x * y;
    float* r = out + 8 * i;
    r[0] = product + z;
    r[1] = std::fma(x, y, z);
    r[2] = x / y;
    r[3] = std::sqrt(x * x);
    r[4] = 1.0f / x;
    r[5] = 1;
    r[6] = 3 * x < 0 ? 0.0f : 3 * x > 1 ? 1.0f : 3 * x;
    r[7] = x - y;
  }
}
