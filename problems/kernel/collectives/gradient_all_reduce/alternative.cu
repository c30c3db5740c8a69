// [solution]
#include <fabricbench/rank_barrier.h>

// Plain kernels, one after the other, with a barrier of all ranks between them: each rank adds up a slice into its own
// output, then fetches the other slices from the outputs of their owners. From the last rank to the first.
using fabricbench::Peers;
constexpr int kThreads = 128, kMostBlocks = 256;

// The numbers are taken in pairs, of which the last may be incomplete.
__global__ void reduce(Peers<const __nv_bfloat16> grad, __nv_bfloat16* sum, int64_t begin, int64_t end, int64_t n,
                       int world) {
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  for (int64_t pair = begin + int64_t{blockIdx.x} * kThreads + threadIdx.x; pair < end; pair += threads) {
    if (2 * pair + 1 < n) {
      float2 total = make_float2(0, 0);
#pragma unroll 4
      for (int r = world - 1; r >= 0; --r) {
        const float2 v = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(grad.of[r])[pair]);
        total = make_float2(total.x + v.x, total.y + v.y);
      }
      reinterpret_cast<__nv_bfloat162*>(sum)[pair] = __float22bfloat162_rn(total);
    } else {
      float total = 0;
      for (int r = world - 1; r >= 0; --r) total += __bfloat162float(grad.of[r][2 * pair]);
      sum[2 * pair] = __float2bfloat16_rn(total);
    }
  }
}

__global__ void fetch(const __nv_bfloat16* from, __nv_bfloat16* to, int64_t begin, int64_t end, int64_t n) {
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  for (int64_t pair = begin + int64_t{blockIdx.x} * kThreads + threadIdx.x; pair < end; pair += threads) {
    if (2 * pair + 1 < n) {
      reinterpret_cast<uint32_t*>(to)[pair] = reinterpret_cast<const uint32_t*>(from)[pair];
    } else {
      to[2 * pair] = from[2 * pair];
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        inputs_(rank, args.grad),
        outputs_(rank, args.sum) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t pairs = (args.n + 1) / 2;
    const auto begin = [&](int r) { return pairs * r / world_; };
    const auto blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, pairs / world_ / kThreads + 1));
    const auto words = words_.peers<uint32_t>();
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all inputs are there
    reduce<<<blocks, kThreads, 0, stream>>>(inputs_.peers<const __nv_bfloat16>(), args.sum, begin(rank_),
                                            begin(rank_ + 1), args.n, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    for (int step = 1; step < world_; ++step) {
      const int peer = (rank_ + step) % world_;
      fetch<<<blocks, kThreads, 0, stream>>>(outputs_.at<__nv_bfloat16>(peer), args.sum, begin(peer), begin(peer + 1),
                                             args.n);
    }
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, inputs_, outputs_;
};
// [/solution]
