// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;

// Each rank sorts the numbers of its choices by expert, and after a barrier experts' ranks fetch the tokens from where
// they are. There is another barrier before the tokens change.

// list: where each expert begins, [experts + 1], then the sorted choices. A thread for each expert.
__global__ void sort(const int32_t* ids, int32_t* list, int choices, int experts) {
  const auto expert = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (expert > experts) return;
  int32_t at = 0;
  for (int i = 0; i < choices; ++i) at += ids[i] >= 0 && ids[i] < expert;
  list[expert] = at;
  for (int i = 0; i < choices && expert < experts; ++i) {
    if (ids[i] == expert) list[experts + 1 + at++] = i;
  }
}

// A block for each expert of this rank.
__global__ void fetch(Args args, Peers<const int32_t> lists, Peers<const uint4> tokens, int rank, int world) {
  const int local = static_cast<int>(args.local), experts = world * local, expert = static_cast<int>(blockIdx.x);
  const int64_t vectors = args.hidden / 8;
  int32_t row = 0;
  for (int s = 0; s < world; ++s) row += lists.of[s][rank * local + expert] - lists.of[s][rank * local];
  if (threadIdx.x == 0) args.expert_offsets[expert] = row;
  for (int s = 0; s < world; ++s) {
    const int32_t* list = lists.of[s];
    const int32_t end = list[rank * local + expert + 1];
    for (int32_t n = list[rank * local + expert]; n < end; ++n, ++row) {
      const int64_t choice = list[experts + 1 + n];
      for (int64_t v = threadIdx.x; v < vectors; v += blockDim.x)
        reinterpret_cast<uint4*>(args.recv_x)[row * vectors + v] = tokens.of[s][choice / args.k * vectors + v];
      if (threadIdx.x == 0) args.recv_from[row] = static_cast<int32_t>(s * args.tokens * args.k + choice);
    }
  }
  if (threadIdx.x == 0 && expert == local - 1) args.expert_offsets[local] = row;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        lists_(rank, static_cast<size_t>(world_ * args.local + 1 + args.tokens * args.k) * sizeof(int32_t)),
        tokens_(rank, args.x) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto experts = static_cast<int>(world_ * args.local);
    sort<<<static_cast<unsigned>(experts / 32 + 1), 32, 0, stream>>>(args.ids, lists_.mine<int32_t>(),
                                                                     static_cast<int>(args.tokens * args.k), experts);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    fetch<<<static_cast<unsigned>(args.local), 256, 0, stream>>>(args, lists_.peers<const int32_t>(),
                                                                 tokens_.peers<const uint4>(), rank_, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, lists_, tokens_;
};
// [/solution]
