// [solution]
#include <fabricbench/rank_barrier.h>

// One block that reads the routing of all ranks itself, between two barriers: no rank sends a count.
using fabricbench::Peers;
using fabricbench::rank_barrier;

constexpr int kThreads = 512;

__global__ void layout_by_reading(Args args, Peers<const int> count, Peers<const int> topk, Peers<uint32_t> flags,
                                  int rank, int world, uint32_t call) {
  const int k = static_cast<int>(args.k), local = static_cast<int>(args.experts) / world;
  for (int64_t i = threadIdx.x; i < args.experts; i += kThreads) args.expert_tokens[i] = 0;
  for (int i = threadIdx.x; i < local; i += kThreads) args.received[i] = 0;
  for (int64_t i = threadIdx.x; i < world; i += kThreads) args.rank_tokens[i] = args.offset[i] = 0;
  for (int64_t i = threadIdx.x; i < args.tokens * world; i += kThreads) args.to_rank[i] = 0;
  rank_barrier(flags, rank, world, 2 * call - 1);

  for (int source = 0; source < world; ++source) {
    const int valid = *count.of[source];
    for (int token = threadIdx.x; token < valid; token += kThreads) {
      uint32_t ranks = 0;
      for (int j = 0; j < k; ++j) {
        const int expert = topk.of[source][token * k + j];
        if (expert < 0) continue;
        ranks |= 1u << expert / local;
        if (expert / local == rank) atomicAdd(&args.received[expert % local], 1);
        if (source == rank) atomicAdd(&args.expert_tokens[expert], 1);
      }
      for (int r = 0; r < world; ++r) {
        if ((ranks >> r & 1) == 0) continue;
        if (source < rank) atomicAdd(&args.offset[r], 1);
        if (source != rank) continue;
        atomicAdd(&args.rank_tokens[r], 1);
        args.to_rank[token * world + r] = 1;
      }
    }
  }
  rank_barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        count_(rank, args.count),
        topk_(rank, args.topk),
        flags_(rank, sizeof(uint32_t) * fabricbench::kMostRanks) {}

  void run(const Args& args, cudaStream_t stream) {
    layout_by_reading<<<1, kThreads, 0, stream>>>(args, count_.peers<const int>(), topk_.peers<const int>(),
                                                  flags_.peers<uint32_t>(), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory count_, topk_, flags_;
};
// [/solution]
