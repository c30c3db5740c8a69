// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
constexpr int kThreads = 1024;

struct Found {
  double sum;
  unsigned long long count;
};

// One block; its threads add up in shared memory.
__global__ void add_losses(const float* loss, const uint8_t* mask, Found* found, int64_t tokens) {
  __shared__ Found all;
  if (threadIdx.x == 0) all = {};
  __syncthreads();
  Found own = {};
  for (int64_t t = threadIdx.x; t < tokens; t += kThreads) {
    if (mask[t] == 0) continue;
    own.sum += loss[t];
    ++own.count;
  }
  atomicAdd(&all.sum, own.sum);
  atomicAdd(&all.count, own.count);
  __syncthreads();
  if (threadIdx.x == 0) *found = all;
}

// Reads what all ranks have found where it is.
__global__ void finish(Peers<Found> found, const uint8_t* mask, float* mean_loss, int64_t* count, float* dloss,
                       int64_t tokens, int world) {
  Found all = {};
  for (int r = 0; r < world; ++r) {
    all.sum += found.of[r]->sum;
    all.count += found.of[r]->count;
  }
  const double inverse = 1 / static_cast<double>(all.count == 0 ? 1 : all.count);
  const int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (t < tokens) dloss[t] = mask[t] != 0 ? static_cast<float>(world * inverse) : 0;
  if (t != 0) return;
  *mean_loss = static_cast<float>(all.sum * inverse);
  *count = static_cast<int64_t>(all.count);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), found_(rank, sizeof(Found)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto words = words_.peers<uint32_t>();
    const auto found = found_.peers<Found>();
    add_losses<<<1, kThreads, 0, stream>>>(args.loss, args.mask, found.of[rank_], args.tokens);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    finish<<<static_cast<unsigned>((args.tokens + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        found, args.mask, args.mean_loss, args.count, args.dloss, args.tokens, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, found_;
};
// [/solution]
