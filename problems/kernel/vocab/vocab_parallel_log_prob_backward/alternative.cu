// [solution]
#include <fabricbench/rank_barrier.h>

#include "../log_prob.h"

using fabricbench::Peers;

// The largest number that at least k of the block's numbers reach.
__device__ uint32_t kth_largest(uint32_t value, int k) {
  uint32_t result = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit /= 2) {
    if (__syncthreads_count(value >= (result | bit)) >= k) result |= bit;
  }
  return result;
}

// A block for each row, a thread for each word in the lists of all ranks, which it reads where they are. Behind the key
// now stands the number over the whole vocabulary, of 18 bits: the first 14 of these, with the key, and the rest decide
// in two steps.
__global__ void __launch_bounds__(kThreads)
    select_all(Peers<uint32_t> places, const int32_t* target, const float* grad, __nv_bfloat16* dlogits, int64_t vocab,
               int k, int self, int world) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t t = blockIdx.x;
  const int rank = thread / k;
  const uint32_t place = rank < world ? places.of[rank][t * k + thread % k] : 0;
  const auto word = static_cast<uint32_t>(rank * vocab) + 0xFFFF - (place & 0xFFFF);
  const uint32_t upper = place != 0 ? (place & 0xFFFF0000) | (0x3FFFF - word) >> 4 : 0, lower = (0x3FFFF - word) & 15;
  const uint32_t last = kth_largest(upper, k);
  const int missing = k - __syncthreads_count(upper > last);
  const uint32_t last_lower = kth_largest(upper == last ? lower + 1 : 0, missing);
  const bool kept = upper > last || (upper == last && lower + 1 >= last_lower);
  const float x = logit_of(place >> 16), least = logit_of(last >> 16);
  const float sum = sum_of_block(kept ? expf(x - least) : 0.0F);
  const bool is_target = kept && word == static_cast<uint32_t>(target[t]);
  if (__syncthreads_or(is_target) == 0 || !kept || rank != self) return;
  const float p = expf(x - (least + logf(sum)));
  dlogits[t * vocab + (0xFFFF - (place & 0xFFFF))] = __float2bfloat16(grad[t] * (is_target ? 1 - p : -p));
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        places_(rank, static_cast<size_t>(args.tokens * args.k) * sizeof(uint32_t)) {
    const int64_t of_thread = (args.vocab / 8 + kThreads - 1) / kThreads * 8;
    shared_ = static_cast<int>(args.k * kLanes * of_thread * int64_t{sizeof(uint32_t)});
    fabricbench::check_cuda(cudaFuncSetAttribute(select_local, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_));
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const int k = static_cast<int>(args.k);
    const auto words = words_.peers<uint32_t>();
    const auto places = places_.peers<uint32_t>();
    fabricbench::check_cuda(cudaMemsetAsync(
        args.dlogits, 0, static_cast<size_t>(args.tokens * args.vocab) * sizeof(__nv_bfloat16), stream));
    select_local<<<rows, kThreads, static_cast<size_t>(shared_), stream>>>(reinterpret_cast<const int4*>(args.logits),
                                                                           places.of[rank_], args.vocab / 8, k);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all lists are there
    select_all<<<rows, kThreads, 0, stream>>>(places, args.target, args.grad, args.dlogits, args.vocab, k, rank_,
                                              world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank_, world_, ++round_);  // all have been read
  }

 private:
  int rank_, world_, shared_ = 0;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, places_;
};
// [/solution]
