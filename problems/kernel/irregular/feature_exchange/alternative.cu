// [solution]
#include <fabricbench/rank_barrier.h>

// Reads the ids of other ranks, and then the rows, where they are, between two kernels that are barriers of all ranks.
using fabricbench::Peers;

// Grid: (any, world).
__global__ void pull(Peers<const int32_t> id, Peers<const int4> feature, int4* out, int64_t chunk, int64_t quads,
                     int rank) {
  const auto c = static_cast<int>(blockIdx.y), world = static_cast<int>(gridDim.y);
  const int source = (rank + c) % world, k = (world - c) % world;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < chunk * quads; i += gridDim.x * blockDim.x) {
    const int64_t node = id.of[source][k * chunk + i / quads];
    out[c * chunk * quads + i] = feature.of[source][node * quads + i % quads];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        ids_(rank, args.id),
        features_(rank, args.feature) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    pull<<<dim3(32, world), 128, 0, stream>>>(ids_.peers<const int32_t>(), features_.peers<const int4>(),
                                              reinterpret_cast<int4*>(args.out), args.chunk, args.width / 8, rank_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, ids_, features_;
};
// [/solution]
