// [solution]
#include <fabricbench/rank_barrier.h>

// Ordinary loads pull the pieces, between two kernels that are barriers of all ranks: the stream orders the three.
using fabricbench::Peers;

// Grid: (any, world, batch).
__global__ void pull(Peers<const int4> in, int4* out, int64_t quads, int rank) {
  const int64_t world = gridDim.y, sequence = blockIdx.z;
  const int64_t source = (rank + blockIdx.y) % world;
  const int4* from = in.of[source] + sequence * quads;
  int4* to = out + (sequence * world + source) * quads;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) to[i] = from[i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        inputs_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    const dim3 grid(8, static_cast<unsigned>(world_), static_cast<unsigned>(args.batch));
    pull<<<grid, 128, 0, stream>>>(inputs_.peers<const int4>(), reinterpret_cast<int4*>(args.out),
                                   args.tokens * args.hidden / 8, rank_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, inputs_;
};
// [/solution]
