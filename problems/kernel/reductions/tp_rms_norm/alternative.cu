// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// A warp for each row.
__global__ void add_squares(const __nv_bfloat16* x, float* sums, int64_t hidden) {
  float sum = 0;
  for (int64_t j = threadIdx.x; j < hidden; j += warpSize) {
    const float v = __bfloat162float(x[blockIdx.x * hidden + j]);
    sum += v * v;
  }
  for (int step = warpSize / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Reads the sums of all ranks where they are.
__global__ void normalise(Peers<float> sums, const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y,
                          int64_t hidden, int world) {
  const int64_t t = blockIdx.x;
  float sum = 0;
  for (int r = 0; r < world; ++r) sum += sums.of[r][t];
  const float scale = rsqrtf(sum / static_cast<float>(hidden * world) + 1e-5F);
  for (int64_t j = threadIdx.x; j < hidden; j += blockDim.x)
    y[t * hidden + j] = __float2bfloat16(__bfloat162float(x[t * hidden + j]) * scale * __bfloat162float(weight[j]));
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        sums_(rank, static_cast<size_t>(args.tokens) * sizeof(float)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const auto words = words_.peers<uint32_t>();
    const auto sums = sums_.peers<float>();
    add_squares<<<rows, 32, 0, stream>>>(args.x, sums.of[rank_], args.hidden);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    normalise<<<rows, 128, 0, stream>>>(sums, args.x, args.weight, args.y, args.hidden, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_;
};
// [/solution]
