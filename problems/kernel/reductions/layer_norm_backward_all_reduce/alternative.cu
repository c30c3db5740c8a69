// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 64, kRows = 128;  // columns and rows of a block

// A thread for each column; blocks add to the sums of their device.
__global__ void add_rows(const __nv_bfloat16* dy, const __nv_bfloat16* x, const float* mean, const float* rstd,
                         float* sums, int64_t tokens, int64_t hidden) {
  const int64_t j = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (j >= hidden) return;
  float gamma = 0, beta = 0;
  for (int64_t t = int64_t{blockIdx.y} * kRows; t < min(tokens, (int64_t{blockIdx.y} + 1) * kRows); ++t) {
    const float gradient = __bfloat162float(dy[t * hidden + j]);
    gamma += gradient * (__bfloat162float(x[t * hidden + j]) - mean[t]) * rstd[t];
    beta += gradient;
  }
  atomicAdd(sums + j, gamma);
  atomicAdd(sums + hidden + j, beta);
}

// Reads the sums of all ranks where they are.
__global__ void add_ranks(Peers<float> sums, __nv_bfloat16* dgamma, __nv_bfloat16* dbeta, int64_t hidden, int world) {
  const int64_t j = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (j >= hidden) return;
  float gamma = 0, beta = 0;
  for (int r = 0; r < world; ++r) {
    gamma += sums.of[r][j];
    beta += sums.of[r][hidden + j];
  }
  dgamma[j] = __float2bfloat16(gamma);
  dbeta[j] = __float2bfloat16(beta);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        sums_(rank, static_cast<size_t>(2 * args.hidden) * sizeof(float)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto strips = static_cast<unsigned>((args.hidden + kThreads - 1) / kThreads);
    const auto shares = static_cast<unsigned>((args.tokens + kRows - 1) / kRows);
    const auto words = words_.peers<uint32_t>();
    const auto sums = sums_.peers<float>();
    fabricbench::check_cuda(
        cudaMemsetAsync(sums.of[rank_], 0, static_cast<size_t>(2 * args.hidden) * sizeof(float), stream));
    add_rows<<<dim3(strips, shares), kThreads, 0, stream>>>(args.dy, args.x, args.mean, args.rstd, sums.of[rank_],
                                                            args.tokens, args.hidden);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    add_ranks<<<strips, kThreads, 0, stream>>>(sums, args.dgamma, args.dbeta, args.hidden, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_;
};
// [/solution]
