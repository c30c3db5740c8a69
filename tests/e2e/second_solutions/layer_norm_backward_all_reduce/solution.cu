// One kernel: blocks add up shares of the rows of a tile of 64 columns; the last block of a tile to end adds up the
// shares, stores this rank's sums into every rank's memory, waits for those of all ranks, and adds and rounds them.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kColumns = 64;         // of a tile
constexpr int kSums = 2 * kColumns;  // dgamma's, then dbeta's
constexpr int kThreads = 256;        // 8 for the columns, 8 each; 32 rows at a time
constexpr int kRows = kThreads / (kColumns / 8);
constexpr int kMostBlocks = 132;  // all are resident, since some wait for other ranks

// The memory of each rank that others write: floats [call % 2][source][tile][kSums], then flags [tile][source], each
// the last call whose sums are there.
struct Buffers {
  float* shares;       // [share of rows][tile][kSums] of this rank alone
  uint32_t* finished;  // [tile] shares that were ever finished
  int64_t flags;       // where they are in each rank's memory, behind the sums
};

__global__ void __launch_bounds__(kThreads)
    gradients(Args args, Buffers buffers, fabricbench::Peers<float> peers, int rank, int world, uint32_t call) {
  __shared__ float rows[kRows][kSums + 1];
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.x);
  const int tiles = static_cast<int>((args.hidden + kColumns - 1) / kColumns);
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    float gamma[8] = {};
    float beta[8] = {};
    const int group = thread % (kColumns / 8) * 8;
    const int64_t column = static_cast<int64_t>(tile) * kColumns + group;
    const int row_of_block = thread / (kColumns / 8);
    if (column < args.hidden) {  // a multiple of 8: all eight or none
      for (int64_t t = blockIdx.y * kRows + row_of_block; t < args.tokens; t += gridDim.y * kRows) {
        const uint4 dy = *reinterpret_cast<const uint4*>(args.dy + t * args.hidden + column);
        const uint4 x = *reinterpret_cast<const uint4*>(args.x + t * args.hidden + column);
        const uint32_t dys[4] = {dy.x, dy.y, dy.z, dy.w};
        const uint32_t xs[4] = {x.x, x.y, x.z, x.w};
        const float mean = args.mean[t];
        const float rstd = args.rstd[t];
        for (int i = 0; i < 8; ++i) {
          const float d = __uint_as_float(i % 2 == 0 ? dys[i / 2] << 16 : dys[i / 2] & 0xffff0000u);
          const float v = __uint_as_float(i % 2 == 0 ? xs[i / 2] << 16 : xs[i / 2] & 0xffff0000u);
          gamma[i] += d * (v - mean) * rstd;
          beta[i] += d;
        }
      }
    }
    for (int i = 0; i < 8; ++i) {
      rows[row_of_block][group + i] = gamma[i];
      rows[row_of_block][kColumns + group + i] = beta[i];
    }
    __syncthreads();
    if (thread < kSums) {
      float sum = 0.0f;
      for (int r = 0; r < kRows; ++r) sum += rows[r][thread];
      buffers.shares[(static_cast<int64_t>(blockIdx.y) * tiles + tile) * kSums + thread] = sum;
    }
    __syncthreads();
    if (thread == 0) {
      // Release: the block's share, before the barrier, is there for the block that counts later. Acquire: the last one
      // sees all shares. They are of this GPU, so its scope is enough. The counter grows over all calls.
      cuda::atomic_ref<uint32_t, cuda::thread_scope_device> finished(buffers.finished[tile]);
      last = finished.fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * gridDim.y;
    }
    __syncthreads();
    if (!last) continue;

    const auto sums = [&](int where, int source) {
      return peers.of[where] + ((call % 2 * world + source) * static_cast<int64_t>(tiles) + tile) * kSums;
    };
    const auto flag = [&](int where, int source) {
      return reinterpret_cast<uint32_t*>(peers.of[where] + buffers.flags) + tile * world + source;
    };
    if (thread < kSums) {
      float sum = 0.0f;
      for (int share = 0; share < static_cast<int>(gridDim.y); ++share) {
        sum += buffers.shares[(static_cast<int64_t>(share) * tiles + tile) * kSums + thread];
      }
      // In float: rounding is for the end. The place was read two calls ago; the flags of the last call, which this
      // rank has waited for, were stored behind that.
      for (int to = 0; to < world; ++to) sums(to, rank)[thread] = sum;
    }
    // The stores of the block are before the flags; release and acquire at system scope, since the reader is another
    // GPU. A rank may be a call ahead, so at least this call.
    __syncthreads();
    if (thread < world) {
      cuda::atomic_ref<uint32_t, cuda::thread_scope_system> theirs(*flag(thread, rank));
      cuda::atomic_ref<uint32_t, cuda::thread_scope_system> mine(*flag(rank, thread));
      theirs.store(call, cuda::memory_order_release);
      while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - call) < 0) {
      }
    }
    __syncthreads();
    const int64_t out = static_cast<int64_t>(tile) * kColumns + thread % kColumns;
    if (thread < kSums && out < args.hidden) {
      float sum = 0.0f;
      for (int source = 0; source < world; ++source) sum += sums(rank, source)[thread];
      (thread < kColumns ? args.dgamma : args.dbeta)[out] = __float2bfloat16(sum);
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tiles_((args.hidden + kColumns - 1) / kColumns),
        columns_(static_cast<unsigned>(std::min<int64_t>(tiles_, kMostBlocks))),
        shares_(
            static_cast<unsigned>(std::clamp<int64_t>((args.tokens + kRows - 1) / kRows, 1, kMostBlocks / columns_))),
        memory_(rank, sizeof(float) * static_cast<size_t>(2 * world_ * tiles_ * kSums + world_ * tiles_)) {
    buffers_.flags = 2 * world_ * tiles_ * kSums;
    check(cudaMalloc(&buffers_.shares, sizeof(float) * static_cast<size_t>(shares_ * tiles_ * kSums)));
    check(cudaMalloc(&buffers_.finished, sizeof(uint32_t) * static_cast<size_t>(tiles_)));
    check(cudaMemset(buffers_.finished, 0, sizeof(uint32_t) * static_cast<size_t>(tiles_)));
    check(cudaDeviceSynchronize());
  }

  ~Solution() {
    cudaFree(buffers_.shares);
    cudaFree(buffers_.finished);
  }

  void run(const Args& args, cudaStream_t stream) {
    gradients<<<dim3(columns_, shares_), kThreads, 0, stream>>>(args, buffers_, memory_.peers<float>(), rank_, world_,
                                                                ++call_);
  }

 private:
  static void check(cudaError_t status) { fabricbench::check_cuda(status, "layer_norm_backward"); }

  int rank_;
  int world_;
  int64_t tiles_;
  unsigned columns_;
  unsigned shares_;
  fabricbench::PeerMemory memory_;
  Buffers buffers_ = {};
  uint32_t call_ = 0;
};
// [/solution]
