// [solution]
#include <fabricbench/rank_barrier.h>

// Pulls word by word, between two kernels that are barriers of all ranks: the stream orders the three.
using fabricbench::Peers;

__global__ void pull(Peers<const uint32_t> in, uint32_t* out, int64_t n) {
  const auto source = static_cast<int>(blockIdx.y);
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[source * n + i] = in.of[source][i];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        inputs_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto flags = flags_.peers<uint32_t>();
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(flags, rank_, ++epoch_);
    pull<<<dim3(4, world_), 256, 0, stream>>>(inputs_.peers<const uint32_t>(), args.out, args.n);
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(flags, rank_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, inputs_;
};
// [/solution]
