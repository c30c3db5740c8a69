// Device code for an architecture that clang does not know: its macros, its instructions, and the PTX's target.
#include <cuda_fp8.h>

#include "checks.h"

struct Macros {
  int architecture, specific, family, feature;
};

__global__ void read_macros(Macros* found) {
#if defined(__CUDA_ARCH__)
  found->architecture = __CUDA_ARCH__;
#if defined(__CUDA_ARCH_SPECIFIC__)
  found->specific = __CUDA_ARCH_SPECIFIC__;
#endif
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
  found->family = __CUDA_ARCH_FAMILY_SPECIFIC__;
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  found->feature = 100;
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  found->feature = 90;
#endif
#endif
}

#if defined(EXPECT_100)
// Vectors of eight words came with sm_100.
__global__ void copy_wide(unsigned* to, const unsigned* from) {
  unsigned v[8];
  asm volatile("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
               : "l"(from));
  asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(to), "r"(v[0]), "r"(v[1]), "r"(v[2]),
               "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7])
               : "memory");
}
#endif

int main() {
  Macros* found = shared_array<Macros>(1);
  read_macros<<<1, 1>>>(found);
  CHECK(cudaDeviceSynchronize());
#if defined(EXPECT_100)
  CHECK_EQ(found->architecture, 1000);
  CHECK_EQ(found->specific, 1000);
  CHECK_EQ(found->family, 1000);
  CHECK_EQ(found->feature, 100);
  unsigned* data = shared_array<unsigned>(16);
  for (unsigned i = 0; i < 8; ++i) data[i] = i + 1;
  copy_wide<<<1, 1>>>(data + 8, data);
  CHECK(cudaDeviceSynchronize());
  for (unsigned i = 0; i < 8; ++i) CHECK_EQ(data[8 + i], i + 1);
#elif defined(EXPECT_90A)
  CHECK_EQ(found->architecture, 900);
  CHECK_EQ(found->specific, 900);
  CHECK_EQ(found->family, 900);
  CHECK_EQ(found->feature, 90);
#else
  CHECK_EQ(found->architecture, 900);
  CHECK_EQ(found->specific, 0);
  CHECK_EQ(found->feature, 0);
#endif
  return finish();
}
