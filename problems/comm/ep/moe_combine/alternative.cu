// [solution]
#include <fabricbench/rank_barrier.h>

// Pulled: between two barriers, each rank works out at which row its tokens are elsewhere, and reads them there.
using fabricbench::Peers;
using fabricbench::rank_barrier;

constexpr int kThreads = 256;

__global__ void pull(Args args, Peers<const __nv_bfloat16> y, Peers<const int> recv_from, Peers<uint32_t> flags,
                     int rank, int world, uint32_t call) {
  __shared__ int next[fabricbench::kMostRanks];  // row at each rank of our next token there
  rank_barrier(flags, rank, world, 2 * call - 1);
  if (threadIdx.x < world) next[threadIdx.x] = recv_from.of[threadIdx.x][rank];
  __syncthreads();

  const int64_t local = args.experts / world;
  for (int64_t token = 0; token < *args.count; ++token) {
    uint64_t ranks = 0;
    for (int64_t j = 0; j < args.k; ++j) {
      const int expert = args.topk[token * args.k + j];
      if (expert >= 0) ranks |= uint64_t{1} << expert / local;
    }
    for (int64_t i = threadIdx.x; i < args.hidden; i += kThreads) {
      float sum = 0;
      for (int r = world; r-- > 0;) {
        if (ranks >> r & 1) sum += __bfloat162float(y.of[r][next[r] * args.hidden + i]);
      }
      args.out[token * args.hidden + i] = __float2bfloat16(sum);
    }
    __syncthreads();
    if (threadIdx.x < world && (ranks >> threadIdx.x & 1)) ++next[threadIdx.x];
    __syncthreads();
  }
  rank_barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        y_(rank, args.y),
        from_(rank, args.recv_from),
        flags_(rank, sizeof(uint32_t) * fabricbench::kMostRanks) {}

  void run(const Args& args, cudaStream_t stream) {
    pull<<<1, kThreads, 0, stream>>>(args, y_.peers<const __nv_bfloat16>(), from_.peers<const int>(),
                                     flags_.peers<uint32_t>(), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory y_, from_, flags_;
};
// [/solution]
