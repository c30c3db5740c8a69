// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include "../log_prob.h"

// A block for each row, a thread for each of the gathered words [world][tokens][k]: it counts the words before its own,
// by a search in the sorted list of each rank.
__global__ void __launch_bounds__(kThreads) select_all(const uint32_t* places, const int32_t* target, float* log_prob,
                                                       int64_t tokens, int64_t vocab, int k, int world) {
  __shared__ uint32_t all[kThreads];
  __shared__ float most, logit;
  const auto thread = static_cast<int>(threadIdx.x);
  const int rank = thread / k;
  const int64_t t = blockIdx.x;
  const bool there = rank < world;
  const uint32_t mine = there ? places[(rank * tokens + t) * k + thread % k] : 0;
  all[thread] = mine;
  __syncthreads();
  int before = 0;
  for (int r = 0; r < world && mine != 0; ++r) {
    // Equal logits of lower ranks are before this one, those of higher ranks are not.
    const uint32_t least = r < rank ? mine & 0xFFFF0000 : r == rank ? mine + 1 : (mine | 0xFFFF) + 1;
    int low = 0, high = k;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (all[r * k + middle] >= least) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    before += low;
  }
  const bool kept = mine != 0 && before < k;
  const float x = logit_of(mine >> 16);
  if (kept && before == 0) most = x;
  const bool is_target = kept && rank * vocab + (0xFFFF - (mine & 0xFFFF)) == target[t];
  if (is_target) logit = x;
  const bool has_target = __syncthreads_or(is_target) != 0;
  const float sum = sum_of_block(kept ? __expf(x - most) : 0.0F);
  if (thread == 0) log_prob[t] = has_target ? logit - most - logf(sum) : -1e30F;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(
        cudaMalloc(&places_, static_cast<size_t>((1 + world_) * args.tokens * args.k) * sizeof(uint32_t)));
    const int64_t of_thread = (args.vocab / 8 + kThreads - 1) / kThreads * 8;
    shared_ = static_cast<int>(args.k * kLanes * of_thread * int64_t{sizeof(uint32_t)});
    fabricbench::check_cuda(cudaFuncSetAttribute(select_local, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_));
  }
  ~Solution() { cudaFree(places_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const int k = static_cast<int>(args.k);
    uint32_t* gathered = places_ + args.tokens * k;
    select_local<<<rows, kThreads, static_cast<size_t>(shared_), stream>>>(reinterpret_cast<const int4*>(args.logits),
                                                                           places_, args.vocab / 8, k);
    fabricbench::check_nccl(
        ncclAllGather(places_, gathered, static_cast<size_t>(args.tokens * k), ncclUint32, comm_, stream));
    select_all<<<rows, kThreads, 0, stream>>>(gathered, args.target, args.log_prob, args.tokens, args.vocab, k, world_);
  }

 private:
  int world_, shared_ = 0;
  fabricbench::NcclCommunicator comm_;
  uint32_t* places_ = nullptr;
};
// [/solution]
