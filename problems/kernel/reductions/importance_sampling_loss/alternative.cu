// [solution]
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>

using fabricbench::Peers;
constexpr int kThreads = 1024;

// What has been found so far. Extremes are of d, from which those of the ratio follow.
struct Found {
  double weighted = 0, ratios = 0, logs = 0, surprise = 0;
  float least = 5, largest = -5;
  unsigned clamped = 0, count = 0;

  __host__ __device__ void add(const Found& other) {
    weighted += other.weighted;
    ratios += other.ratios;
    logs += other.logs;
    surprise += other.surprise;
    least = other.least < least ? other.least : least;
    largest = other.largest > largest ? other.largest : largest;
    clamped += other.clamped;
    count += other.count;
  }
};

// One block; halves of its threads are added up in memory.
__global__ void add_tokens(const float* now, const float* old, const float* advantage, const uint8_t* mask,
                           Found* of_thread, Found* found, int64_t tokens) {
  Found own;
  for (int64_t t = threadIdx.x; t < tokens; t += kThreads) {
    if (mask[t] == 0) continue;
    const float x = now[t] - old[t], d = x > 5 ? 5 : x < -5 ? -5 : x, w = expf(d);
    own.add({static_cast<double>(w) * static_cast<double>(advantage[t]), w, d, -now[t], d, d, x == d ? 0u : 1u, 1});
  }
  of_thread[threadIdx.x] = own;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) of_thread[threadIdx.x].add(of_thread[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) *found = of_thread[0];
}

// Reads what all ranks have found where it is.
__global__ void finish(Peers<Found> found, const float* now, const float* old, const float* advantage,
                       const uint8_t* mask, float* loss, float* metrics, int64_t* count, float* dnew, int64_t tokens,
                       int world) {
  Found all;
  for (int r = 0; r < world; ++r) all.add(*found.of[r]);
  const double inverse = 1 / static_cast<double>(all.count == 0 ? 1 : all.count);
  const int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (t < tokens) {
    float gradient = 0;
    if (mask[t] != 0) {
      const float x = now[t] - old[t];
      if (x > -5 && x < 5) gradient = static_cast<float>(static_cast<double>(-expf(x) * advantage[t]) * inverse);
    }
    dnew[t] = gradient;
  }
  if (t != 0) return;
  *loss = static_cast<float>(-all.weighted * inverse);
  metrics[0] = static_cast<float>(all.ratios * inverse);
  metrics[1] = all.count == 0 ? 0 : expf(all.least);
  metrics[2] = all.count == 0 ? 0 : expf(all.largest);
  metrics[3] = static_cast<float>((all.ratios - all.logs - all.count) * inverse);
  metrics[4] = static_cast<float>(all.surprise * inverse);
  metrics[5] = static_cast<float>(all.clamped * inverse);
  *count = all.count;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), found_(rank, sizeof(Found)) {
    fabricbench::check_cuda(cudaMalloc(&of_thread_, kThreads * sizeof(Found)));
  }
  ~Solution() { cudaFree(of_thread_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto words = words_.peers<uint32_t>();
    const auto found = found_.peers<Found>();
    add_tokens<<<1, kThreads, 0, stream>>>(args.new_logprob, args.old_logprob, args.advantage, args.mask, of_thread_,
                                           found.of[rank_], args.tokens);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all sums are there
    finish<<<static_cast<unsigned>((args.tokens + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        found, args.new_logprob, args.old_logprob, args.advantage, args.mask, args.loss, args.metrics, args.count,
        args.dnew, args.tokens, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, found_;
  Found* of_thread_ = nullptr;
};
// [/solution]
