// Inline PTX as nvcc takes it.
#include <cuda_fp16.h>

#include "checks.h"

// Never instantiated: more numbers than operands.
template <class T>
__device__ T never(T x) {
  T y;
  asm("add.u32 %0, %1, %2, %12;" : "=r"(y) : "r"(x));
  return y;
}
template <class T>
__device__ T twice(T x) {
  T y;
  asm("add.u32 %0, %1, %1;" : "=r"(y) : "r"(x));
  return y;
}

__global__ void forms(int* out, const float* data) {
  int r;
  // clang-format off
  asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(out[0]) "r"(out[1]));  // no comma
  // clang-format on
  out[2] = r;
  asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(out[0]), "n"(sizeof(int) * 10));
  out[3] = r;
  asm("{ .reg .pred %p; .reg .b32 %tmp;\n\t"
      "setp.ne.s32 %p, %1, 0; mov.u32 %tmp, 7; selp.s32 %0, %tmp, 9, %p; }"
      : "=r"(r)
      : "r"(static_cast<int>(out[0] > 0)));
  out[4] = r;
  asm volatile("");
  asm volatile("bar.sync 0;");
  asm volatile("membar.gl;" ::: "memory");
  asm volatile("membar.cta;" : : :);
  unsigned lane, other;
  asm("mov.u32 %0, %laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%laneid;" : "=r"(other));
  out[5] = lane == other;
  __half two = __float2half(2.0f), four;
  asm("add.f16 %0, %1, %1;"
      : "=h"(*reinterpret_cast<unsigned short*>(&four))
      : "h"(*reinterpret_cast<unsigned short*>(&two)));
  out[6] = static_cast<int>(__half2float(four));
  asm volatile("prefetch.global.L2 [%0];" : : "l"(data));
  asm("ld.global.s32 %0, [%1+4];" : "=r"(r) : "l"(out));
  out[7] = r;
  asm("add.s32 %0, %1, %2;\n" : "=r"(r) : "r"(out[0]), "r"(out[1]) :);
  out[8] = r;
  asm("add.s32 %0, %0, 1;" : "+r"(r));
  out[9] = r;
  double wide;
  asm("mov.b64 %0, {%1, %2};" : "=d"(wide) : "r"(0), "r"(0x40080000));
  out[10] = static_cast<int>(wide);
  out[11] = static_cast<int>(twice(21u));
}

int main() {
  int* out = shared_array(12);
  out[0] = 3;
  out[1] = 4;
  forms<<<1, 1>>>(out, shared_array<float>(1));
  CHECK(cudaDeviceSynchronize());
  const int expected[] = {3, 4, 7, 43, 7, 1, 4, 4, 7, 8, 3, 42};
  for (int i = 0; i < 12; ++i) CHECK_EQ(out[i], expected[i]);
  return finish();
}
