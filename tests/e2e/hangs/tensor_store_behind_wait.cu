// cause: cycle
// says: could still write it: rank 0, device 1, kernel copy_after
// Each device waits for the other's word before it writes its own, one of them by a tensor copy: the copy counts as a
// writer, though the kernel has no pointer to the word but the one in the tensor map.
#include <cuda.h>

#include "hang.h"

__global__ void store_after(Word* mine, Word* theirs) {
  while (LOAD(mine) != 1) continue;  // waits
  STORE(theirs, 1);
}

__global__ void copy_after(Word* mine, const __grid_constant__ CUtensorMap theirs) {
  __shared__ alignas(128) Word ones[32];
  ones[threadIdx.x] = 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  while (LOAD(mine) != 1) continue;  // waits
  if (threadIdx.x != 0) return;
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(ones));
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%1}], [%2];" ::"l"(&theirs), "r"(0),
               "r"(from)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

int main() {
  connect_two_devices();
  Word *a = make_words(0), *b = make_words(1);
  CUtensorMap map{};
  const cuuint64_t words = 32;
  const cuuint32_t box = 32, stride = 1;
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, a, &words, nullptr, &box, &stride,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return 2;
  CHECK(cudaSetDevice(0));
  store_after<<<1, 32>>>(a, b);
  CHECK(cudaSetDevice(1));
  copy_after<<<1, 32>>>(b, map);
  wait_for_devices(2);
}
