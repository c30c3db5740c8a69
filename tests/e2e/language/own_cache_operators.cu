// Programs that define functions which clang's own headers lack are not in the way of the SDK's.
#include "checks.h"

#ifdef __clang__
__device__ void __stwt(uint4* to, const uint4& v) {
  asm volatile("st.global.wt.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ int __ldcg(const int* from) { return *from; }
#endif

__global__ void pass(uint4* to, const int* from) {
  __stwt(to + threadIdx.x, make_uint4(static_cast<unsigned>(__ldcg(from)), threadIdx.x, 2, 3));
  __stwt(&to[4].x + threadIdx.x, 9u);  // the SDK's
}

int main() {
  uint4* data = shared_array<uint4>(5);
  int* one = shared_array<int>(1);
  *one = 7;
  pass<<<1, 4>>>(data, one);
  CHECK(cudaDeviceSynchronize());
  for (unsigned i = 0; i < 4; ++i) {
    CHECK_EQ(data[i].x, 7u);
    CHECK_EQ(data[i].y, i);
    CHECK_EQ(data[i].w, 3u);
  }
  CHECK_EQ(data[4].z, 9u);
  return finish();
}
