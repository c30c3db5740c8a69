// [solution]
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>

using fabricbench::Peers;
constexpr int kThreads = 64, kMostExperts = 256;

struct Totals {
  unsigned counts[kMostExperts];
  float sums[kMostExperts];
};

// A thread for each token. It takes the largest logit that it has not taken yet, top_k times.
__global__ void add_tokens(const __nv_bfloat16* logits, Totals* totals, int64_t tokens, int experts, int top_k) {
  __shared__ Totals of_block;
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    of_block.counts[e] = 0;
    of_block.sums[e] = 0;
  }
  __syncthreads();
  const int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (t < tokens) {
    const __nv_bfloat16* row = logits + t * experts;
    float total = 0, largest = -7;
    for (int e = 0; e < experts; ++e) largest = fmaxf(largest, __bfloat162float(row[e]));
    for (int e = 0; e < experts; ++e) total += expf(__bfloat162float(row[e]) - largest);
    for (int e = 0; e < experts; ++e) atomicAdd(&of_block.sums[e], expf(__bfloat162float(row[e]) - largest) / total);
    float before = 7;  // the last one that was taken, and its expert
    int last = -1;
    for (int k = 0; k < top_k; ++k) {
      float best = -7;
      int expert = 0;
      for (int e = 0; e < experts; ++e) {
        const float x = __bfloat162float(row[e]);
        if ((x < before || (x == before && e > last)) && x > best) {
          best = x;
          expert = e;
        }
      }
      atomicAdd(&of_block.counts[expert], 1u);
      before = best;
      last = expert;
    }
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    atomicAdd(&totals->counts[e], of_block.counts[e]);
    atomicAdd(&totals->sums[e], of_block.sums[e]);
  }
}

// One block. Reads the totals of all ranks where they are.
__global__ void finish(Peers<Totals> totals, float* fraction, float* probability, float* loss, int64_t tokens,
                       int experts, int top_k, int world) {
  __shared__ double sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    unsigned count = 0;
    double mean = 0;
    for (int r = 0; r < world; ++r) {
      count += totals.of[r]->counts[e];
      mean += totals.of[r]->sums[e];
    }
    mean /= static_cast<double>(tokens * world);
    const double share = count / static_cast<double>(tokens * world * top_k);
    fraction[e] = static_cast<float>(share);
    probability[e] = static_cast<float>(mean);
    atomicAdd(&sum, share * mean);
  }
  __syncthreads();
  if (threadIdx.x == 0) *loss = static_cast<float>(experts * sum);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), totals_(rank, sizeof(Totals)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto words = words_.peers<uint32_t>();
    const auto totals = totals_.peers<Totals>();
    const auto experts = static_cast<int>(args.experts), top_k = static_cast<int>(args.top_k);
    fabricbench::check_cuda(cudaMemsetAsync(totals.of[rank_], 0, sizeof(Totals), stream));
    add_tokens<<<static_cast<unsigned>((args.tokens + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        args.logits, totals.of[rank_], args.tokens, experts, top_k);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all totals are there
    finish<<<1, kThreads, 0, stream>>>(totals, args.fraction, args.probability, args.loss, args.tokens, experts, top_k,
                                       world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, totals_;
};
// [/solution]
