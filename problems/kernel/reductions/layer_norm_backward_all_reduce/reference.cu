#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kWarp = 32, kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kStrip = 32;               // columns of a block: 64 bytes of a row, 16 for each of 4 threads
constexpr int kSums = 2 * kStrip;        // of a strip: its dgamma, then its dbeta
constexpr int kSide = kStrip / 8;        // threads side by side
constexpr int kRows = kThreads / kSide;  // rows that a block reads at a time
constexpr int kBlocks = 132;             // all resident at once: some wait for their peers
constexpr int kMostRanks = kThreads / kSums;

// A sum on its way: the call's number in the upper half says that the lower one is there. Both are one value, so that
// nothing has to be ordered, and relaxed accesses are enough; at system scope, as the reader is on another GPU.
using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
__device__ void send(uint64_t& slot, float sum, uint32_t call) {
  Slot(slot).store(uint64_t{call} << 32 | __float_as_uint(sum), cuda::memory_order_relaxed);
}
__device__ float receive(uint64_t& slot, uint32_t call) {
  uint64_t bits;
  do {
    bits = Slot(slot).load(cuda::memory_order_relaxed);
  } while (bits >> 32 != call);
  return __uint_as_float(static_cast<uint32_t>(bits));
}

// Counts the blocks of a strip that have left their partial sums.
using Ticket = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;

struct Inputs {
  const int4 *dy, *x;
  const float *mean, *rstd;
};

// This thread's eight columns, over the rows of its block: sums[0 … 7] of dgamma, sums[8 … 15] of dbeta.
__device__ void add_rows(float (&sums)[16], const Inputs& in, int64_t quad, int64_t quads, int64_t first, int64_t step,
                         int64_t tokens) {
#pragma unroll 4
  for (int64_t t = first; t < tokens; t += step) {
    const int4 dy = __ldg(in.dy + t * quads + quad), x = __ldg(in.x + t * quads + quad);
    const float mean = __ldg(in.mean + t), rstd = __ldg(in.rstd + t);
    const auto *gradients = reinterpret_cast<const __nv_bfloat162*>(&dy),
               *values = reinterpret_cast<const __nv_bfloat162*>(&x);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 g = __bfloat1622float2(gradients[k]), v = __bfloat1622float2(values[k]);
      sums[2 * k] += (v.x - mean) * rstd * g.x;
      sums[2 * k + 1] += (v.y - mean) * rstd * g.y;
      sums[8 + 2 * k] += g.x;
      sums[8 + 2 * k + 1] += g.y;
    }
  }
}

// blockIdx.x is a strip of columns, blockIdx.y a share of the rows.
//
// Three reductions, one behind the other, and only the last block of a strip to finish goes through all of them:
//   block   in registers and shared memory; the result goes to `partial` [share][strip][kSums]
//   device  the block that draws the last ticket of its strip adds up all shares
//   node    that block sends the sums to all peers, and waits for theirs
// So blocks never wait for blocks of their own rank, and the exchange of a strip begins as soon as it is complete.
//
// Slots [call % 2][sender][strip][kSums] on each rank. In call e a rank writes slots that hold sums of call e - 2. The
// owner has read those: before the writer's call e - 1 ended, it had received the owner's sums of call e - 1, which the
// owner sent in a kernel that its stream started after that of call e - 2. So two sets are enough.
__global__ void __launch_bounds__(kThreads)
    gradients(Peers<uint64_t> slots, float* partial, uint32_t* tickets, Inputs in, __nv_bfloat16* dgamma,
              __nv_bfloat16* dbeta, int64_t tokens, int64_t hidden, int rank, int world, uint32_t call) {
  __shared__ float of_warp[kWarps][kSums], own[kSums], of_rank[kMostRanks][kSums];
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, side = thread % kSide;
  const int64_t strips = (hidden + kStrip - 1) / kStrip, all_sums = strips * kSums;

  for (int64_t strip = blockIdx.x; strip < strips; strip += gridDim.x) {
    float sums[16] = {};
    const int64_t quad = strip * kSide + side;
    if (8 * quad < hidden)
      add_rows(sums, in, quad, hidden / 8, int64_t{blockIdx.y} * kRows + thread / kSide, int64_t{gridDim.y} * kRows,
               tokens);
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      for (int step = kSide; step < kWarp; step *= 2) sums[k] += __shfl_xor_sync(~0u, sums[k], step);
    }
    if (thread % kWarp < kSide) {
#pragma unroll
      for (int k = 0; k < 16; ++k) of_warp[warp][k / 8 * kStrip + 8 * side + k % 8] = sums[k];
    }
    __syncthreads();
    float sum = 0;
    if (thread < kSums) {
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += of_warp[w][thread];
      partial[blockIdx.y * all_sums + strip * kSums + thread] = sum;
    }

    // The barrier puts this block's partial sums before its ticket; release hands them on, at device scope, and acquire
    // gets those of the blocks that drew theirs earlier. Tickets go on counting from call to call.
    __syncthreads();
    if (thread == 0) last = Ticket(tickets[strip]).fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * gridDim.y;
    __syncthreads();
    if (!last) continue;

    if (thread < kSums) {
      float all = 0;
#pragma unroll 4
      for (unsigned share = 0; share < gridDim.y; ++share) all += partial[share * all_sums + strip * kSums + thread];
      own[thread] = all;
    }
    __syncthreads();

    // Thread (r, s) deals with sum s and rank r: it sends the sum there and waits for that rank's.
    const int r = thread / kSums, s = thread % kSums;
    if (r < world) {
      const int64_t set = (call % 2) * world;
      float value = own[s];
      if (r != rank) {
        send(slots.of[r][(set + rank) * all_sums + strip * kSums + s], value, call);
        value = receive(slots.of[rank][(set + r) * all_sums + strip * kSums + s], call);
      }
      of_rank[r][s] = value;
    }
    __syncthreads();
    const int64_t column = strip * kStrip + thread % kStrip;
    if (thread < kSums && column < hidden) {
      float all = 0;
      for (int i = 0; i < world; ++i) all += of_rank[i][thread];  // in one order: the same bits on all ranks
      (thread < kStrip ? dgamma : dbeta)[column] = __float2bfloat16(all);
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), slots_(rank, 2 * rank.world() * sums_of(args) * sizeof(uint64_t)) {
    // Enough blocks to fill the GPU, but no share of rows that is smaller than what a block reads at a time.
    const int64_t strips = strips_of(args), passes = (args.tokens + kRows - 1) / kRows;
    const int64_t x = std::min<int64_t>(strips, kBlocks), y = std::min<int64_t>(kBlocks / x, passes);
    grid_ = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
    fabricbench::check_cuda(cudaMalloc(&partial_, static_cast<size_t>(y) * sums_of(args) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&tickets_, static_cast<size_t>(strips) * sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMemset(tickets_, 0, static_cast<size_t>(strips) * sizeof(uint32_t)));
  }
  ~Solution() {
    cudaFree(partial_);
    cudaFree(tickets_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const Inputs in = {reinterpret_cast<const int4*>(args.dy), reinterpret_cast<const int4*>(args.x), args.mean,
                       args.rstd};
    gradients<<<grid_, kThreads, 0, stream>>>(slots_.peers<uint64_t>(), partial_, tickets_, in, args.dgamma, args.dbeta,
                                              args.tokens, args.hidden, rank_, world_, ++call_);
  }

 private:
  static int64_t strips_of(const Args& args) { return (args.hidden + kStrip - 1) / kStrip; }
  static size_t sums_of(const Args& args) { return static_cast<size_t>(strips_of(args) * kSums); }

  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory slots_;
  dim3 grid_;
  float* partial_ = nullptr;
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
//|     // TODO: enqueue the sums
//|   }
//| };
// [/solution]
