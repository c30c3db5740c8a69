// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 256, kBlocks = 64;

// The sum of squares in double, block by block.
__global__ void add_squares(const __nv_bfloat16* g, int64_t n, double* sum_of_all) {
  __shared__ double sum_of_block;
  if (threadIdx.x == 0) sum_of_block = 0;
  __syncthreads();
  double sum = 0;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < n; i += int64_t{kThreads} * kBlocks) {
    const float v = __bfloat162float(g[i]);
    sum += v * v;
  }
  atomicAdd(&sum_of_block, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum_of_all, sum_of_block);
}

// Reads the shards' sums of all ranks where they are, and the experts' of this rank's group.
__global__ void scale(Peers<double> sums, const __nv_bfloat16* g, __nv_bfloat16* clipped, int64_t n, float divisor,
                      const float* max_norm, float* norm_out, int rank, int world, int ep) {
  double dense = 0, experts = 0;
  for (int r = 0; r < world; ++r) dense += sums.of[r][0];
  for (int e = 0; e < ep; ++e) experts += sums.of[rank / ep * ep + e][1];
  const auto norm = static_cast<float>(sqrt(dense + experts / (ep * ep)));
  float factor = *max_norm / (norm + 1e-6F);
  if (factor > 1) factor = 1;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < n; i += int64_t{kThreads} * kBlocks)
    clipped[i] = __float2bfloat16(__bfloat162float(g[i]) / divisor * factor);
  if (blockIdx.x == 0 && threadIdx.x == 0) *norm_out = norm;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        sums_(rank, 2 * sizeof(double)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto words = words_.peers<uint32_t>();
    const auto sums = sums_.peers<double>();
    const auto ep = static_cast<int>(args.ep);
    double* own = sums.of[rank_];
    fabricbench::check_cuda(cudaMemsetAsync(own, 0, 2 * sizeof(double), stream));
    add_squares<<<kBlocks, kThreads, 0, stream>>>(args.dense_grad, args.dense, own);
    add_squares<<<kBlocks, kThreads, 0, stream>>>(args.expert_grad, args.expert, own + 1);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    scale<<<kBlocks, kThreads, 0, stream>>>(sums, args.dense_grad, args.dense_clipped, args.dense, 1, args.max_norm,
                                            args.norm, rank_, world_, ep);
    scale<<<kBlocks, kThreads, 0, stream>>>(sums, args.expert_grad, args.expert_clipped, args.expert,
                                            static_cast<float>(ep), args.max_norm, args.norm, rank_, world_, ep);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_;
};
// [/solution]
