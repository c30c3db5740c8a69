// cuda::ptx: a bulk copy in, a bulk copy out, and the barrier between them.
#include <cuda/ptx>

namespace ptx = cuda::ptx;

#if defined(__NVCC__)  // whose header has no elect_sync in CUDA 13.0
__device__ bool is_leader() { return threadIdx.x == 0; }
#else
__device__ bool is_leader() { return threadIdx.x < 32 && ptx::elect_sync(0xffffffff); }
#endif

// run: bulk_both_ways grid=1 block=64 shared=0
// in:  i32[256] = random 121
// out: i32[256]
extern "C" __global__ void bulk_both_ways(const int* in, int* out, int n) {
  __shared__ alignas(128) int part[256];
  __shared__ uint64_t barrier;
  const bool leader = is_leader();
  if (leader) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, part, in, sizeof part, &barrier);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, sizeof part);
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) continue;
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) part[i] = part[i] / 2 + i;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (leader) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, part, sizeof part);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
extern "C" void expect_bulk_both_ways(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] / 2 + i;
}

// run: arrivals grid=1 block=64 shared=0
// in:  i32[64] = random 122
// out: i32[64]
extern "C" __global__ void arrivals(const int* in, int* out, int n) {
  __shared__ int values[64];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, blockDim.x);
  __syncthreads();
  values[threadIdx.x] = in[threadIdx.x];
  uint64_t state = ptx::mbarrier_arrive(&barrier);
  while (!ptx::mbarrier_try_wait(&barrier, state)) continue;
  const int other = values[n - 1 - int(threadIdx.x)];
  state = ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier);
  while (!ptx::mbarrier_test_wait(&barrier, state)) continue;
  out[threadIdx.x] = other;
}
extern "C" void expect_arrivals(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[n - 1 - i];
}
