#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kWarp = 32, kWarps = 16, kThreads = kWarp * kWarps;
constexpr int kEach = 6, kTile = kEach * kWarp;  // prototypes of a lane, and of a warp
constexpr int kAtOnce = 4;                       // images of a warp that are loaded together
constexpr int kBlocks = 16;                      // all resident at once: they wait for each other
constexpr int kMostRanks = 8, kIterations = 3;

// Steps count the iterations of all calls, from 1; fresh flags and tickets are 0. Buffers with [2] are used in turn.
struct Buffers {
  Peers<float> sums;      // on each rank, [2][sender][prototype]: sums over the sender's images
  Peers<uint32_t> flags;  // on each rank, [sender][block]: the last step whose sums that block has sent
  float* columns;         // [2][block][image]: sums over the block's prototypes
  uint32_t* tickets;      // of the rank's blocks, over all steps
};

template <cuda::thread_scope scope>
__device__ void wait_for(uint32_t& word, uint32_t value) {
  while (cuda::atomic_ref<uint32_t, scope>(word).load(cuda::memory_order_acquire) < value) {
  }
}

// Indices fit into 32 bits: there are at most 1,024 x 65,536 numbers.
//
// Some numbers of a warp's images and of a lane's prototypes. All loads are issued before one is used; zeros stand for
// what is not there, and add nothing.
struct Part {
  float p[kAtOnce][kEach];
  int image, prototype, images, prototypes;  // the first ones, and all

  __device__ bool has(int i, int j) const { return image + i * kWarps < images && prototype + j * kWarp < prototypes; }
  __device__ int at(int i, int j) const { return (image + i * kWarps) * prototypes + prototype + j * kWarp; }
  __device__ void load(const float* from) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) p[i][j] = has(i, j) ? from[at(i, j)] : 0;
    }
  }
  __device__ void store(float* to) const {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        if (has(i, j)) to[at(i, j)] = p[i][j];
      }
    }
  }
};

// The sum of up to `kMost` numbers, `stride` apart: loaded together as well, and added in the same order by everyone.
template <int kMost>
__device__ float sum_of(const float* from, int stride, int count) {
  float part[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) part[i] = i == 0 || i < count ? from[i * stride] : 0;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMost; ++i) sum += part[i];
  return sum;
}

// One kernel for all iterations. A block has tiles of prototypes, with all images of the rank, and deals the images to
// its warps: a thread has the same numbers P in all passes. The first ones stay in its registers, others in q.
//
// Sums over images are complete in a block but for the other ranks: the blocks of the same number of all ranks send
// theirs to each other. Sums over prototypes are complete on the rank but for its other blocks: all blocks leave
// theirs, have a barrier, and read them. So each half of an iteration has one exchange, and none is between all blocks
// of all ranks.
//
// In step s a block overwrites what was there in step s - 2, and all have read that:
// - sums: the block has acquired the flag of step s - 1 of the rank to which it writes; the block there had read the
//   sums of step s - 2 when it released that flag.
// - columns: all blocks of the rank had a barrier in step s - 1, and each had read those of step s - 2 before.
__global__ void __launch_bounds__(kThreads) sinkhorn(Buffers buffers, const float* logits, float* q, int images,
                                                     int prototypes, int rank, int world, uint32_t first_step) {
  __builtin_assume(world > 1);
  extern __shared__ float memory[];  // u of the block's prototypes, then v of all images
  __shared__ float of_warp[kWarps][kTile];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const auto block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const int tiles = (prototypes + kTile - 1) / kTile, own = (tiles - block + blocks - 1) / blocks;
  float *u = memory, *v = memory + (tiles + blocks - 1) / blocks * kTile;
  const auto begin = [&](int t) { return (block + t * blocks) * kTile; };  // of the block's tile t

  Part kept = {{}, warp, begin(0) + lane, images, prototypes};
  kept.load(logits);
  // Calls use(part) for all parts of tile t that this thread has.
  const auto for_parts = [&](int t, const float* from, const auto& use) {
    for (int first = warp; first < images; first += kAtOnce * kWarps) {
      if (t == 0 && first == warp) {
        use(kept);
      } else {
        Part part = {{}, first, begin(t) + lane, images, prototypes};
        part.load(from);
        use(part);
      }
    }
  };

  for (int n = 0; n < kIterations; ++n) {
    const uint32_t step = first_step + static_cast<uint32_t>(n);
    const int set = step % 2;

    // Sums over images, first in u.
    for (int t = 0; t < own; ++t) {
      float sum[kEach] = {};
      for_parts(t, n == 0 ? logits : q, [&](Part& part) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const float factor = n > 0 && part.has(i, 0) ? v[part.image + i * kWarps] : 1;
#pragma unroll
          for (int j = 0; j < kEach; ++j) {
            if (n == 0) part.p[i][j] = part.has(i, j) ? __expf(20 * part.p[i][j]) : 0;
            sum[j] += part.p[i][j] * factor;
          }
        }
        if (n == 0 && &part != &kept) part.store(q);
      });
#pragma unroll
      for (int j = 0; j < kEach; ++j) of_warp[warp][lane + j * kWarp] = sum[j];
      __syncthreads();
      if (thread < kTile) {
        float all = 0;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) all += of_warp[w][thread];
        u[t * kTile + thread] = all;
      }
      __syncthreads();
    }

    // Warp r sends them to rank r. The barrier of the warp hands its lanes' stores to lane 0, and release hands them
    // on; at system scope, as the reader is on another GPU. Acquire and the block's barrier are the way back.
    if (warp < world) {
      float* to = buffers.sums.of[warp] + (set * world + rank) * prototypes;
      for (int t = 0; t < own; ++t) {
        for (int j = lane; j < kTile; j += kWarp) {
          if (begin(t) + j < prototypes) to[begin(t) + j] = u[t * kTile + j];
        }
      }
      __syncwarp();
      if (lane == 0) {
        cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(buffers.flags.of[warp][rank * blocks + block])
            .store(step, cuda::memory_order_release);
        wait_for<cuda::thread_scope_system>(buffers.flags.of[rank][warp * blocks + block], step);
      }
    }
    __syncthreads();
    for (int i = thread; i < own * kTile; i += kThreads) {
      const int k = begin(i / kTile) + i % kTile;
      const float* from = buffers.sums.of[rank] + set * world * prototypes + k;
      u[i] = k < prototypes ? 1 / sum_of<kMostRanks>(from, prototypes, world) : 0;
    }
    __syncthreads();

    // Sums over this block's prototypes.
    for (int first = warp; first < images; first += kAtOnce * kWarps) {
      float sum[kAtOnce] = {};
      for (int t = 0; t < own; ++t) {
        Part part = kept;
        if (t != 0 || first != warp) {
          part = {{}, first, begin(t) + lane, images, prototypes};
          part.load(q);
        }
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          const float factor = u[t * kTile + lane + j * kWarp];
#pragma unroll
          for (int i = 0; i < kAtOnce; ++i) sum[i] += part.p[i][j] * factor;
        }
      }
      for (int apart = kWarp / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) sum[i] += __shfl_xor_sync(~0u, sum[i], apart);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int b = first + i * kWarps;
        if (lane == 0 && b < images) buffers.columns[(set * blocks + block) * images + b] = sum[i];
      }
    }
    // A barrier of the rank's blocks: what each has stored before is handed on by release and acquire, at device scope.
    __syncthreads();
    if (thread == 0) {
      cuda::atomic_ref<uint32_t, cuda::thread_scope_device>(*buffers.tickets).fetch_add(1, cuda::memory_order_acq_rel);
      wait_for<cuda::thread_scope_device>(*buffers.tickets, step * static_cast<uint32_t>(blocks));
    }
    __syncthreads();
    for (int b = thread; b < images; b += kThreads)
      v[b] = 1 / sum_of<kBlocks>(buffers.columns + set * blocks * images + b, images, blocks);
    __syncthreads();
  }

  for (int t = 0; t < own; ++t) {
    for_parts(t, q, [&](Part& part) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (!part.has(i, 0)) continue;
#pragma unroll
        for (int j = 0; j < kEach; ++j) part.p[i][j] *= u[t * kTile + lane + j * kWarp] * v[part.image + i * kWarps];
      }
      part.store(q);
    });
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tiles_(static_cast<int>((args.prototypes + kTile - 1) / kTile)),
        blocks_(std::min(kBlocks, tiles_)),
        sums_(rank, 2 * static_cast<size_t>(rank.world() * args.prototypes) * sizeof(float)),
        flags_(rank, static_cast<size_t>(rank.world() * blocks_) * sizeof(uint32_t)) {
    fabricbench::check_cuda(cudaMalloc(&columns_, 2 * static_cast<size_t>(blocks_ * args.images) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&tickets_, sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMemset(tickets_, 0, sizeof(uint32_t)));
  }
  ~Solution() {
    cudaFree(columns_);
    cudaFree(tickets_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const Buffers buffers = {sums_.peers<float>(), flags_.peers<uint32_t>(), columns_, tickets_};
    const int most = (tiles_ + blocks_ - 1) / blocks_;  // tiles of a block
    const auto bytes = static_cast<size_t>(most * kTile + args.images) * sizeof(float);
    sinkhorn<<<blocks_, kThreads, bytes, stream>>>(buffers, args.logits, args.q, static_cast<int>(args.images),
                                                   static_cast<int>(args.prototypes), rank_, world_, next_step_);
    next_step_ += kIterations;
  }

 private:
  int rank_, world_;
  int tiles_, blocks_;
  uint32_t next_step_ = 1;
  fabricbench::PeerMemory sums_, flags_;
  float* columns_ = nullptr;
  uint32_t* tickets_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the three iterations
//|   }
//| };
// [/solution]
