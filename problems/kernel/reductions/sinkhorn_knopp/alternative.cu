// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 128, kWarp = 32;

__global__ void exponentials(const float* logits, float* q, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) q[i] = expf(logits[i] / 0.05F);
}

// A thread for each prototype.
__global__ void add_rows(const float* q, float* sums, int64_t images, int64_t prototypes) {
  const int64_t k = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= prototypes) return;
  float sum = 0;
  for (int64_t b = 0; b < images; ++b) sum += q[b * prototypes + k];
  sums[k] = sum;
}

// Reads the sums of all ranks where they are.
__global__ void add_ranks(Peers<float> sums, float* totals, int64_t prototypes, int world) {
  const int64_t k = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= prototypes) return;
  float total = 0;
  for (int r = 0; r < world; ++r) total += sums.of[r][k];
  totals[k] = total;
}

// The matrix itself is scaled, twice: a warp for each image.
__global__ void scale(float* q, const float* totals, int64_t prototypes) {
  float* row = q + blockIdx.x * prototypes;
  float sum = 0;
  for (int64_t k = threadIdx.x; k < prototypes; k += kWarp) {
    row[k] /= totals[k];
    sum += row[k];
  }
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int64_t k = threadIdx.x; k < prototypes; k += kWarp) row[k] /= sum;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        sums_(rank, static_cast<size_t>(args.prototypes) * sizeof(float)) {
    fabricbench::check_cuda(cudaMalloc(&totals_, static_cast<size_t>(args.prototypes) * sizeof(float)));
  }
  ~Solution() { cudaFree(totals_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto words = words_.peers<uint32_t>();
    const auto sums = sums_.peers<float>();
    const auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); };
    const int64_t count = args.images * args.prototypes;
    exponentials<<<blocks(count), kThreads, 0, stream>>>(args.logits, args.q, count);
    for (int n = 0; n < 3; ++n) {
      add_rows<<<blocks(args.prototypes), kThreads, 0, stream>>>(args.q, sums.of[rank_], args.images, args.prototypes);
      fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
      add_ranks<<<blocks(args.prototypes), kThreads, 0, stream>>>(sums, totals_, args.prototypes, world_);
      fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
      scale<<<static_cast<unsigned>(args.images), kWarp, 0, stream>>>(args.q, totals_, args.prototypes);
    }
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, sums_;
  float* totals_ = nullptr;
};
// [/solution]
