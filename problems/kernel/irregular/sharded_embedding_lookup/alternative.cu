// [solution]
#include <fabricbench/rank_barrier.h>

// The owners work: each reads the ids of all ranks and stores the rows that it has into the outputs of those who want
// them, between two kernels that are barriers of all ranks.
using fabricbench::Peers;

constexpr int kWarp = 32;

// Grid: (any, world). A warp looks at 32 ids of a rank and serves those of this owner, one after the other.
__global__ void serve(Peers<const int64_t> ids, const int4* table, Peers<int4> out, int64_t lookups, int64_t rows,
                      int64_t quads, int rank) {
  const int world = static_cast<int>(gridDim.y), asker = (rank + static_cast<int>(blockIdx.y)) % world;
  const auto lane = static_cast<int>(threadIdx.x);
  for (int64_t first = int64_t{blockIdx.x} * kWarp; first < lookups; first += int64_t{gridDim.x} * kWarp) {
    const int64_t row = first + lane < lookups ? ids.of[asker][first + lane] - rank * rows : -1;
    for (unsigned left = __ballot_sync(~0u, row >= 0 && row < rows); left != 0; left &= left - 1) {
      const int j = __ffs(static_cast<int>(left)) - 1;
      const int64_t from = __shfl_sync(~0u, row, j) * quads, to = (first + j) * quads;
      for (int64_t q = lane; q < quads; q += kWarp) out.of[asker][to + q] = table[from + q];
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        ids_(rank, args.id),
        outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    // all have begun
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    serve<<<dim3(64, world), kWarp, 0, stream>>>(ids_.peers<const int64_t>(), reinterpret_cast<const int4*>(args.table),
                                                 outputs_.peers<int4>(), args.lookups, args.rows, args.width / 8,
                                                 rank_);
    // all rows have arrived
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, ids_, outputs_;
};
// [/solution]
