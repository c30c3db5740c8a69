// problem: sinkhorn_knopp
// expect: pass
// mode: full
// seconds: 60
// about: right, with a counter that very many blocks release: the race checker must keep up
// Two kernels in each iteration: one adds up columns of this rank's images and stores the sums into a buffer of every
// rank, each block with an update of a counter there; the other waits for the counters of all ranks and scales rows.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kIterations = 3;
constexpr int kColumns = 32;  // of a block of add_columns
constexpr int kGroups = 16;   // of rows there
constexpr int kThreads = 512;

using Counter = unsigned long long;
using SystemCounter = cuda::atomic_ref<Counter, cuda::thread_scope_system>;

__device__ float exponential(float logit) { return __expf(20.0f * logit); }

// sums: [world][prototypes] of every rank, one of its two sets; counters: [world] of every rank.
__global__ void add_columns(Args args, const float* v, fabricbench::Peers<float> sums,
                            fabricbench::Peers<Counter> counters, int rank, int world, int iteration) {
  __shared__ float part[kGroups][kColumns];
  const int64_t k = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  float sum = 0;
  if (k < args.prototypes) {
    for (int64_t b = threadIdx.y; b < args.images; b += kGroups) {
      const float weight = iteration == 0 ? 1.0f : v[b];
      sum += exponential(args.logits[b * args.prototypes + k]) * weight;
    }
  }
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  // Warp y takes the sums to rank y.
  const int peer = static_cast<int>(threadIdx.y);
  if (peer >= world) return;
  sum = 0;
  for (int group = 0; group < kGroups; ++group) sum += part[group][threadIdx.x];
  if (k < args.prototypes) sums.of[peer][rank * args.prototypes + k] = sum;
  // __syncwarp puts the stores of all lanes before the update, whose release at system scope carries them to the peer.
  // It also carries what the kernels before this one have read: that is why two sets of sums are enough.
  __syncwarp();
  if (threadIdx.x == 0) SystemCounter(counters.of[peer][rank]).fetch_add(1, cuda::memory_order_release);
}

__global__ void scale_rows(Args args, float* v, const float* sums, Counter* counters, int world, Counter expected,
                           bool last) {
  __shared__ float of_warp[kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  // Acquire: all blocks of that rank have stored their sums of this iteration; __syncthreads tells the other threads.
  // A counter may be beyond it: its rank may have begun the next iteration, with the other set.
  if (thread < world) {
    SystemCounter counter(counters[thread]);
    while (counter.load(cuda::memory_order_acquire) < expected) {
    }
  }
  __syncthreads();

  const int64_t b = blockIdx.x;
  const float* row = args.logits + b * args.prototypes;
  const auto scaled = [&](int64_t k) {
    float sum = 0;
    for (int r = 0; r < world; ++r) sum += sums[r * args.prototypes + k];
    return exponential(row[k]) / sum;
  };
  float total = 0;
  for (int64_t k = thread; k < args.prototypes; k += kThreads) total += scaled(k);
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(~0u, total, offset);
  if (thread % 32 == 0) of_warp[thread / 32] = total;
  __syncthreads();
  total = 0;
  for (const float part : of_warp) total += part;
  if (thread == 0) v[b] = 1.0f / total;
  if (!last) return;
  for (int64_t k = thread; k < args.prototypes; k += kThreads) args.q[b * args.prototypes + k] = scaled(k) / total;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        set_bytes_(sizeof(float) * static_cast<size_t>(rank.world() * args.prototypes)),
        sums_(rank, 2 * set_bytes_),
        counters_(rank, sizeof(Counter) * static_cast<size_t>(rank.world())) {
    fabricbench::check_cuda(cudaMalloc(&v_, sizeof(float) * static_cast<size_t>(args.images)), "cudaMalloc");
  }
  ~Solution() { cudaFree(v_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((args.prototypes + kColumns - 1) / kColumns);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      // Two sets, in turn: to store the sums of the iteration behind the next one, a rank must have seen all of this
      // rank's sums of the next one, which are stored behind its last read of this one's.
      const size_t set = round_++ % 2 * set_bytes_;
      add_columns<<<blocks, dim3(kColumns, kGroups), 0, stream>>>(args, v_, sums_.peers<float>(set),
                                                                  counters_.peers<Counter>(), rank_, world_, iteration);
      scale_rows<<<static_cast<unsigned>(args.images), kThreads, 0, stream>>>(
          args, v_, sums_.mine<float>(set), counters_.mine<Counter>(), world_, round_ * blocks,
          iteration + 1 == kIterations);
    }
  }

 private:
  int rank_;
  int world_;
  size_t set_bytes_;
  fabricbench::PeerMemory sums_;
  fabricbench::PeerMemory counters_;
  float* v_ = nullptr;
  Counter round_ = 0;  // iterations of all calls
};
// [/solution]
