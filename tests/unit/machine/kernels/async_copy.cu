// Copies from global to shared memory that no thread waits for: pipelines, groups, barriers, bulk copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

// run: pipeline grid=1 block=32 shared=0
// in:  f32[512] = random 101
// out: f32[128]
// Two stages in flight: while one is summed, the next is copied.
extern "C" __global__ void pipeline(const float* in, float* out, int n) {
  __shared__ float4 stage[2][32];
  const auto* source = reinterpret_cast<const float4*>(in);
  float4 sum = make_float4(0, 0, 0, 0);
  __pipeline_memcpy_async(&stage[0][threadIdx.x], &source[threadIdx.x], sizeof(float4));
  __pipeline_commit();
  for (int round = 0; round < 4; ++round) {
    if (round < 3) {
      __pipeline_memcpy_async(&stage[(round + 1) % 2][threadIdx.x], &source[32 * (round + 1) + threadIdx.x], 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    const float4 v = stage[round % 2][threadIdx.x];
    sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
  }
  reinterpret_cast<float4*>(out)[threadIdx.x] = sum;
}
extern "C" void expect_pipeline(const float* in, float* out, int n) {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 128; ++i) out[i] = out[i] + in[128 * round + i];
  }
}

// run: group_copy grid=1 block=64 shared=0
// in:  i32[256] = random 102
// out: i32[256]
extern "C" __global__ void group_copy(const int* in, int* out, int n) {
  __shared__ alignas(16) int part[256];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, part, in, sizeof(part));
  cg::wait(block);
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) out[i] = part[n - 1 - i];
}
extern "C" void expect_group_copy(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[n - 1 - i];
}

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// run: barrier_phases grid=1 block=64 shared=0
// in:  i32[64] = random 103
// out: i32[64]
extern "C" __global__ void barrier_phases(const int* in, int* out, int n) {
  __shared__ Barrier barrier;
  __shared__ int values[64];
  const int i = int(threadIdx.x);
  if (i == 0) init(&barrier, n);
  __syncthreads();
  values[i] = in[i];
  for (int round = 0; round < 3; ++round) {
    barrier.arrive_and_wait();
    const int other = values[(i + 17) % n];
    auto token = barrier.arrive();
    barrier.wait(static_cast<Barrier::arrival_token&&>(token));
    values[i] ^= other + round;
  }
  out[i] = values[i];
}
extern "C" void expect_barrier_phases(const int* in, int* out, int n) {
  int next[64];
  for (int i = 0; i < n; ++i) out[i] = in[i];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) next[i] = out[i] ^ int(unsigned(out[(i + 17) % n]) + unsigned(round));
    for (int i = 0; i < n; ++i) out[i] = next[i];
  }
}

// run: bulk_copy grid=1 block=64 shared=0
// in:  i32[256] = random 104
// out: i32[256]
extern "C" __global__ void bulk_copy(const int* in, int* out, int n) {
  __shared__ alignas(128) int part[256];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(part, in, cuda::aligned_size_t<16>(sizeof(part)), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(part));
  } else {
    token = barrier.arrive();
  }
  barrier.wait(static_cast<Barrier::arrival_token&&>(token));
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) out[i] = part[i] + 1;
}
extern "C" void expect_bulk_copy(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = int(unsigned(in[i]) + 1);
}

// run: copies_alone grid=1 block=64 shared=0
// in:  i32[128] = random 105
// out: i32[128]
// Each thread copies its own pair.
extern "C" __global__ void copies_alone(const int* in, int* out, int n) {
  __shared__ int2 pairs[64];
  __shared__ Barrier barrier;
  const int i = int(threadIdx.x);
  if (i == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&pairs[i], reinterpret_cast<const int2*>(in) + i, sizeof(int2), barrier);
  barrier.arrive_and_wait();
  reinterpret_cast<int2*>(out)[i] = pairs[63 - i];
}
extern "C" void expect_copies_alone(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[2 * (63 - i / 2) + i % 2];
}
