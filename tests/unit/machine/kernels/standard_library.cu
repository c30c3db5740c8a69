// Headers of the standard library that device code includes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/climits>
#include <cuda/std/cmath>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

template <class T>
__host__ __device__ inline T clamp_to(T v, T low, T high) {
  static_assert(std::is_arithmetic_v<T> && cuda::std::is_same_v<T, float>);
  return v < low ? low : v > high ? high : v;
}

// run: standard_library grid=1 block=32 shared=0
// in:  f32[32] = random 111
// out: f32[160]
__host__ __device__ static void standard(float x, float y, float* r) {
  r[0] = clamp_to(x, -0.5f, 0.5f);
  r[1] = x < 0 ? -HUGE_VALF : INFINITY;
  r[2] = std::abs(x) + std::fabs(y);
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  cuda::std::uint8_t low = bits & 0xff;
  r[3] = float(low) + float(sizeof(std::array<int, 5>)) + float(std::is_signed<int64_t>::value);
  r[4] = std::isnan(x) || std::isinf(y) ? 1.0f : 2.0f;
}
extern "C" __global__ void standard_library(const float* in, float* out, int n) {
  standard(in[threadIdx.x], in[(threadIdx.x + 1) % n], out + 5 * threadIdx.x);
}
extern "C" void expect_standard_library(const float* in, float* out, int n) {
  for (int i = 0; i < n; ++i) standard(in[i], in[(i + 1) % n], out + 5 * i);
}

// run: memory_functions grid=1 block=32 shared=0
// in:  u8[256] = iota
// out: u8[512]
extern "C" __global__ void memory_functions(const unsigned char* in, unsigned char* out, int n) {
  const int size = n / 32;
  auto* buffer = static_cast<unsigned char*>(malloc(2 * size));
  memset(buffer, 7, 2 * size);
  memcpy(buffer + size / 2, in + size * threadIdx.x, size);
  memcpy(out + 2 * size * threadIdx.x, buffer, 2 * size);
  free(buffer);
}
extern "C" void expect_memory_functions(const unsigned char* in, unsigned char* out, int n) {
  for (int t = 0; t < 32; ++t) {
    for (int i = 0; i < 16; ++i) out[16 * t + i] = i >= 4 && i < 12 ? in[8 * t + i - 4] : 7;
  }
}

// run: cuda_std grid=1 block=32 shared=0
// in:  i32[32] = iota 1
// out: i32[96]
__host__ __device__ static void cuda_std_values(int x, int* r) {
  cuda::std::array<int, 3> parts = {x, 2 * x, cuda::std::numeric_limits<int>::max()};
  const auto both = cuda::std::make_tuple(x, 3);
  const cuda::std::pair<int, int> pair{4, x};
  r[0] = parts[1] + cuda::std::get<1>(both) + pair.second;
  r[1] = int(cuda::std::bit_cast<unsigned>(float(x)) >> 16);
  r[2] = int(cuda::std::span<int, 3>(parts).size()) + (parts[2] == INT_MAX) + int(cuda::std::isnan(float(x)));
}
extern "C" __global__ void cuda_std(const int* in, int* out, int n) {
  cuda_std_values(in[threadIdx.x], out + 3 * threadIdx.x);
}
extern "C" void expect_cuda_std(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) cuda_std_values(in[i], out + 3 * i);
}
