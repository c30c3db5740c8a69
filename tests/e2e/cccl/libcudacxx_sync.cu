// Synchronisation of libcu++: atomics, barriers, latches, semaphores, pipelines.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include "checks.h"

namespace cg = cooperative_groups;

__global__ void atomics(int* out, cuda::atomic<int, cuda::thread_scope_system>* counter) {
  cuda::atomic_ref<int, cuda::thread_scope_device> total(out[0]);
  total.fetch_add(2, cuda::memory_order_relaxed);
  counter->fetch_add(1);
  __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> of_block;
  if (threadIdx.x == 0) new (&of_block) cuda::atomic<unsigned, cuda::thread_scope_block>(0);
  __syncthreads();
  of_block.fetch_max(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) out[1] = static_cast<int>(of_block.load());
}

// A flag orders the data before it.
__global__ void pass_on(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = static_cast<int>(threadIdx.x) * 3;
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
  } else {
    if (threadIdx.x == 0) {
      while (ready.load(cuda::std::memory_order_acquire) == 0) continue;
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x] + 1;
  }
}

__global__ void barriers(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[64];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  for (int round = 0; round < 3; ++round) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x) + round;
    barrier.arrive_and_wait();
    out[threadIdx.x] += values[63 - threadIdx.x];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
}

__global__ void copies(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) int tile[256];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, in, sizeof tile, barrier);
  barrier.arrive_and_wait();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += static_cast<int>(blockDim.x)) out[i] = tile[i] * 2;
}

__global__ void pipelined(const int* in, int* out) {
  constexpr int kStages = 2, kTile = 64;
  __shared__ int tiles[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int next = 0;
  for (int tile = 0; tile < 4; ++tile) {
    for (; next < 4 && next < tile + kStages; ++next) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, tiles[next % kStages], in + next * kTile, sizeof(int) * kTile, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[tile * kTile + threadIdx.x] = tiles[tile % kStages][kTile - 1 - threadIdx.x];
    // Where all threads produce and consume, acquiring a stage waits for no other thread that may still read it.
    block.sync();
    pipeline.consumer_release();
  }
}

__device__ int guarded;
__global__ void latches(cuda::latch<cuda::thread_scope_device>* latch,
                        cuda::binary_semaphore<cuda::thread_scope_device>* semaphore, int* out) {
  if (threadIdx.x == 0) {
    semaphore->acquire();
    guarded = guarded + 1;
    semaphore->release();
    latch->arrive_and_wait();
    semaphore->acquire();
    out[blockIdx.x] = guarded;
    semaphore->release();
  }
}
__global__ void make_latch(cuda::latch<cuda::thread_scope_device>* latch,
                           cuda::binary_semaphore<cuda::thread_scope_device>* semaphore, int blocks) {
  new (latch) cuda::latch<cuda::thread_scope_device>(blocks);
  new (semaphore) cuda::binary_semaphore<cuda::thread_scope_device>(1);
}

int main() {
  int *in = shared_array(256), *out = shared_array(256), *flag = shared_array(1);
  for (int i = 0; i < 256; ++i) in[i] = i;
  cuda::atomic<int, cuda::thread_scope_system>* counter = nullptr;
  CHECK(cudaMallocManaged(&counter, sizeof *counter));
  new (counter) cuda::atomic<int, cuda::thread_scope_system>(5);
  atomics<<<2, 64>>>(out, counter);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(out[0], 256);
  CHECK_EQ(out[1], 63);
  CHECK_EQ(counter->load(), 133);

  pass_on<<<2, 64>>>(shared_array(64), flag, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; ++i) CHECK_EQ(out[i], i * 3 + 1);

  for (int i = 0; i < 64; ++i) out[i] = 0;
  barriers<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; ++i) CHECK_EQ(out[i], 3 * (63 - i) + 3);

  copies<<<1, 64>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 256; ++i) CHECK_EQ(out[i], 2 * i);

  pipelined<<<1, 64>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 256; ++i) CHECK_EQ(out[i], i / 64 * 64 + 63 - i % 64);

  void *latch = nullptr, *semaphore = nullptr;
  CHECK(cudaMalloc(&latch, 64));
  CHECK(cudaMalloc(&semaphore, 64));
  auto* typed_latch = static_cast<cuda::latch<cuda::thread_scope_device>*>(latch);
  auto* typed_semaphore = static_cast<cuda::binary_semaphore<cuda::thread_scope_device>*>(semaphore);
  make_latch<<<1, 1>>>(typed_latch, typed_semaphore, 4);
  latches<<<4, 32>>>(typed_latch, typed_semaphore, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 4; ++i) CHECK_EQ(out[i], 4);
  return finish();
}
