// Mathematical functions of C and C++ in device code.
#include <cmath>

// run: math_float grid=1 block=64 shared=0
// in:  f32[64] = random 14
// out: f32[1536] tolerance=4 ulp
__host__ __device__ static void float_functions(float x, float y, float* r) {
  const float p = fabsf(x) + 0.5f;
  r[0] = expf(x);
  r[1] = logf(p);
  r[2] = sinf(x);
  r[3] = cosf(x);
  r[4] = tanf(x);
  r[5] = powf(p, y);
  r[6] = tanhf(x);
  r[7] = erff(x);
  r[8] = exp2f(x);
  r[9] = log2f(p);
  r[10] = atan2f(x, y);
  r[11] = hypotf(x, y);
  r[12] = asinf(x);
  r[13] = cbrtf(x);
  r[14] = expm1f(x);
  r[15] = log1pf(p);
  r[16] = std::exp(y);
  r[17] = std::pow(p, 2.5f);
  r[18] = std::sqrt(p);
  r[19] = fmodf(x * 10, p);
  r[20] = ldexpf(x, 3);
  r[21] = std::log10(p);
  r[22] = coshf(x);
  r[23] = atanf(x);
}
extern "C" __global__ void math_float(const float* in, float* out, int n) {
  float_functions(in[threadIdx.x], in[(threadIdx.x + 5) % n], out + 24 * threadIdx.x);
}
extern "C" void expect_math_float(const float* in, float* out, int n) {
  for (int i = 0; i < n; ++i) float_functions(in[i], in[(i + 5) % n], out + 24 * i);
}

// run: math_double grid=1 block=32 shared=0
// in:  f64[32] = random 15
// out: f64[512] tolerance=4 ulp
__host__ __device__ static void double_functions(double x, double y, double* r) {
  const double p = fabs(x) + 0.5;
  r[0] = exp(x);
  r[1] = log(p);
  r[2] = sin(x);
  r[3] = cos(x);
  r[4] = pow(p, y);
  r[5] = tanh(x);
  r[6] = erf(x);
  r[7] = exp2(x);
  r[8] = log2(p);
  r[9] = sqrt(p);
  r[10] = fma(x, y, p);
  r[11] = fmod(x * 10, p);
  r[12] = std::cbrt(x);
  r[13] = std::hypot(x, y);
  r[14] = std::pow(p, 3);
  r[15] = std::sqrt(2);
}
extern "C" __global__ void math_double(const double* in, double* out, int n) {
  double_functions(in[threadIdx.x], in[(threadIdx.x + 5) % n], out + 16 * threadIdx.x);
}
extern "C" void expect_math_double(const double* in, double* out, int n) {
  for (int i = 0; i < n; ++i) double_functions(in[i], in[(i + 5) % n], out + 16 * i);
}

// run: math_exact grid=1 block=16 shared=0
// in:  f32[16] = list -2.5 -1.5 -0.5 -0.0 0.5 1.5 2.5 1e9 -1e20 0.3 -0.7 inf -inf nan 8388609 123.456
// out: f32[288]
__host__ __device__ static void exact_functions(float x, float y, float* r) {
  r[0] = floorf(x);
  r[1] = ceilf(x);
  r[2] = truncf(x);
  r[3] = roundf(x);
  r[4] = rintf(x);
  r[5] = fabsf(x);
  r[6] = copysignf(y, x);
  r[7] = isnan(x) ? 1.0f : 0.0f;
  r[8] = isinf(x) ? 1.0f : 0.0f;
  r[9] = std::isfinite(x) ? 1.0f : 0.0f;
  r[10] = std::signbit(x) ? 1.0f : 0.0f;
  r[11] = isnan(x) ? 0.0f : fminf(x, 1.0f);
  r[12] = isnan(x) ? 0.0f : fmaxf(x, -1.0f);
  r[13] = std::floor(x);
  r[14] = std::abs(x);
  r[15] = std::fmax(-1.25f, std::fmin(1.25f, isnan(x) ? 0.0f : x));
  r[16] = sqrtf(fabsf(x));
  r[17] = isnan(x) ? 0.0f : fdimf(x, 1.0f);
}
extern "C" __global__ void math_exact(const float* in, float* out, int n) {
  float r[18];
  exact_functions(in[threadIdx.x], in[(threadIdx.x + 1) % 8], r);
  for (int i = 0; i < 18; ++i) out[18 * threadIdx.x + i] = r[i] == r[i] ? r[i] : 1234.0f;
}
extern "C" void expect_math_exact(const float* in, float* out, int n) {
  for (int i = 0; i < n; ++i) {
    float r[18];
    exact_functions(in[i], in[(i + 1) % 8], r);
    for (int k = 0; k < 18; ++k) out[18 * i + k] = r[k] == r[k] ? r[k] : 1234.0f;
  }
}

// run: math_fast grid=1 block=64 shared=0
// in:  f32[64] = random 16
// out: f32[512] tolerance=512 ulp
extern "C" __global__ void math_fast(const float* in, float* out, int n) {
  const float x = in[threadIdx.x], p = fabsf(x) + 1.5f;
  float* r = out + 8 * threadIdx.x;
  r[0] = __expf(x);
  r[1] = __logf(p);
  r[2] = __sinf(p);
  r[3] = __cosf(x);
  r[4] = __fdividef(x, p);
  r[5] = rsqrtf(p);
  r[6] = __powf(p, x);
  r[7] = __log2f(p);
}
extern "C" void expect_math_fast(const float* in, float* out, int n) {
  for (int i = 0; i < n; ++i) {
    const float x = in[i], p = std::fabs(x) + 1.5f;
    float* r = out + 8 * i;
    r[0] = std::exp(x);
    r[1] = std::log(p);
    r[2] = std::sin(p);
    r[3] = std::cos(x);
    r[4] = x / p;
    r[5] = 1.0f / std::sqrt(p);
    r[6] = std::pow(p, x);
    r[7] = std::log2(p);
  }
}

// run: min_max grid=1 block=32 shared=0
// in:  i32[32] = random 17
// out: i32[192]
extern "C" __global__ void min_max(const int* in, int* out, int n) {
  const int x = in[threadIdx.x], y = in[(threadIdx.x + 3) % n];
  int* r = out + 6 * threadIdx.x;
  r[0] = min(x, y);
  r[1] = max(x, y);
  r[2] = int(min(unsigned(x), unsigned(y)));
  r[3] = int(max((long long)x, (long long)y));
  r[4] = int(max(float(x >> 8), float(y >> 8)));
  r[5] = abs(x);
}
extern "C" void expect_min_max(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int x = in[i], y = in[(i + 3) % n];
    int* r = out + 6 * i;
    r[0] = x < y ? x : y;
    r[1] = x < y ? y : x;
    r[2] = unsigned(x) < unsigned(y) ? x : y;
    r[3] = x < y ? y : x;
    r[4] = (x >> 8) < (y >> 8) ? y >> 8 : x >> 8;
    r[4] = int(float(r[4]));
    r[5] = x < 0 ? -x : x;
  }
}
