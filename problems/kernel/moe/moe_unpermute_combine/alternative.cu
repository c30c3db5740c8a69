// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;

// Experts' ranks send each choice's rank the number of its row, and after a barrier the tokens' ranks fetch the rows
// from where they are. There is another barrier before the rows change, and the words that say where they are.

__global__ void tell(Args args, Peers<int32_t> places) {
  const auto choices = static_cast<int>(args.tokens * args.k);
  const auto row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < args.expert_offsets[args.local])
    places.of[args.recv_from[row] / choices][args.recv_from[row] % choices] = row;
}

// A block for each token, a thread for each pair of numbers. The last choice is added first.
__global__ void fetch(Args args, const int32_t* places, Peers<const __nv_bfloat162> rows) {
  const int k = static_cast<int>(args.k), token = static_cast<int>(blockIdx.x);
  const int64_t pairs = args.hidden / 2;
  for (int64_t p = threadIdx.x; p < pairs; p += blockDim.x) {
    float2 sum = {};
    for (int i = token * k + k - 1; i >= token * k; --i) {
      if (args.ids[i] < 0) continue;
      const float2 pair = __bfloat1622float2(rows.of[args.ids[i] / args.local][places[i] * pairs + p]);
      sum.x += args.weights[i] * pair.x;
      sum.y += args.weights[i] * pair.y;
    }
    reinterpret_cast<__nv_bfloat162*>(args.out)[token * pairs + p] = __floats2bfloat162_rn(sum.x, sum.y);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        places_(rank, static_cast<size_t>(args.tokens * args.k) * sizeof(int32_t)),
        rows_(rank, args.y) {}

  void run(const Args& args, cudaStream_t stream) {
    tell<<<static_cast<unsigned>((2 * args.tokens * args.k + 127) / 128), 128, 0, stream>>>(args,
                                                                                            places_.peers<int32_t>());
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    fetch<<<static_cast<unsigned>(args.tokens), 256, 0, stream>>>(args, places_.mine<int32_t>(),
                                                                  rows_.peers<const __nv_bfloat162>());
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, places_, rows_;
};
// [/solution]
