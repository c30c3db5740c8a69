// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 256, kBlocks = 64;

// The sum of this rank's squares in double, block by block.
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

// Reads the sums of all ranks where they are.
__global__ void scale(Peers<double> sums, const __nv_bfloat16* g, __nv_bfloat16* clipped, int64_t n,
                      const float* max_norm, float* norm_out, int world) {
  double sum = 0;
  for (int r = 0; r < world; ++r) sum += *sums.of[r];
  const auto norm = static_cast<float>(sqrt(sum));
  float factor = *max_norm / (norm + 1e-6F);
  if (factor > 1) factor = 1;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < n; i += int64_t{kThreads} * kBlocks)
    clipped[i] = __float2bfloat16(__bfloat162float(g[i]) * factor);
  if (blockIdx.x == 0 && threadIdx.x == 0) *norm_out = norm;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), sums_(rank, sizeof(double)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto words = words_.peers<uint32_t>();
    const auto sums = sums_.peers<double>();
    const __nv_bfloat16* in[] = {args.g0, args.g1, args.g2};
    __nv_bfloat16* out[] = {args.c0, args.c1, args.c2};
    const int64_t n[] = {args.n0, args.n1, args.n2};
    fabricbench::check_cuda(cudaMemsetAsync(sums.of[rank_], 0, sizeof(double), stream));
    for (int k = 0; k < 3; ++k) add_squares<<<kBlocks, kThreads, 0, stream>>>(in[k], n[k], sums.of[rank_]);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    for (int k = 0; k < 3; ++k)
      scale<<<kBlocks, kThreads, 0, stream>>>(sums, in[k], out[k], n[k], args.max_norm, args.norm, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_;
};
// [/solution]
