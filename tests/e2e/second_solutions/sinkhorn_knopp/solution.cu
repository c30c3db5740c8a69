// Two kernels in each iteration: one adds up columns of this rank's images and stores the sums into a buffer of every
// rank, with a flag from its last block; the other waits for the flags of all ranks and scales rows.
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

using Round = unsigned long long;  // iterations of all calls
using SystemFlag = cuda::atomic_ref<Round, cuda::thread_scope_system>;

struct Flags {
  Round stored[8];  // the last round whose sums each rank has stored here
  Round blocks;     // blocks of this GPU that have stored theirs, of all rounds
};

__device__ float exponential(float logit) { return __expf(20.0f * logit); }

// sums: [world][prototypes] of every rank, one of its two sets
__global__ void add_columns(Args args, const float* v, fabricbench::Peers<float> sums, fabricbench::Peers<Flags> flags,
                            int rank, int world, Round round, int iteration) {
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
  if (threadIdx.y < world && k < args.prototypes) {
    sum = 0;
    for (int group = 0; group < kGroups; ++group) sum += part[group][threadIdx.x];
    sums.of[threadIdx.y][rank * args.prototypes + k] = sum;
  }
  // The last block of this GPU: __syncthreads and the counter (acquire and release, at device scope) put the stores of
  // all blocks before its flags, whose release at system scope carries them to the peers. It also carries what the
  // kernels before this one have read: that is why two sets of sums are enough.
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    cuda::atomic_ref<Round, cuda::thread_scope_device> blocks(flags.of[rank]->blocks);
    last = blocks.fetch_add(1, cuda::memory_order_acq_rel) + 1 == round * gridDim.x;
  }
  __syncthreads();
  if (last && threadIdx.y == 0 && threadIdx.x < world) {
    SystemFlag(flags.of[threadIdx.x]->stored[rank]).store(round, cuda::memory_order_release);
  }
}

__global__ void scale_rows(Args args, float* v, const float* sums, Flags* flags, int world, Round round, bool last) {
  __shared__ float of_warp[kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  // Acquire: all blocks of that rank have stored their sums of this round; __syncthreads tells the other threads.
  // A flag may be beyond it: its rank may have begun the next round, with the other set.
  if (thread < world) {
    SystemFlag flag(flags->stored[thread]);
    while (flag.load(cuda::memory_order_acquire) < round) {
    }
  }
  __syncthreads();

  const int64_t b = blockIdx.x;
  const float* row = args.logits + b * args.prototypes;
  const auto scaled = [&](int64_t k) {
    float sum = 0;
#pragma unroll
    for (int r = 0; r < 8; ++r) sum += r < world ? sums[r * args.prototypes + k] : 0.0f;
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
        flags_(rank, sizeof(Flags)) {
    fabricbench::check_cuda(cudaMalloc(&v_, sizeof(float) * static_cast<size_t>(args.images)), "cudaMalloc");
  }
  ~Solution() { cudaFree(v_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((args.prototypes + kColumns - 1) / kColumns);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      // Two sets, in turn: to store the sums of the iteration behind the next one, a rank must have seen all of this
      // rank's sums of the next one, which are stored behind its last read of this one's.
      const size_t set = ++round_ % 2 * set_bytes_;
      add_columns<<<blocks, dim3(kColumns, kGroups), 0, stream>>>(
          args, v_, sums_.peers<float>(set), flags_.peers<Flags>(), rank_, world_, round_, iteration);
      scale_rows<<<static_cast<unsigned>(args.images), kThreads, 0, stream>>>(
          args, v_, sums_.mine<float>(set), flags_.mine<Flags>(), world_, round_, iteration + 1 == kIterations);
    }
  }

 private:
  int rank_;
  int world_;
  size_t set_bytes_;
  fabricbench::PeerMemory sums_;
  fabricbench::PeerMemory flags_;
  float* v_ = nullptr;
  Round round_ = 0;
};
// [/solution]
