// [solution]
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>

// The other way round: each rank compares the edges of all ranks with its own negatives, and every rank adds up what
// all have counted. Barriers of all ranks are kernels.
using fabricbench::Peers;

// Grid: (blocks of edges, world), a thread for each edge.
__global__ void compare(Peers<const int32_t> count, Peers<const float> positive, const float* negative, int32_t* before,
                        int64_t most, int64_t negatives) {
  const int64_t edge = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, source = blockIdx.y;
  if (edge >= *count.of[source]) return;
  const float score = positive.of[source][edge];
  int32_t sum = 0;
  for (int64_t j = 0; j < negatives; ++j) sum += negative[j] >= score;
  before[source * most + edge] = sum;
}

// The same grid.
__global__ void add_up(Peers<const int32_t> count, Peers<const int32_t> before, int32_t* offsets, int32_t* place,
                       int64_t most) {
  const int64_t edge = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int source = static_cast<int>(blockIdx.y), world = static_cast<int>(gridDim.y);
  int32_t first = 0, sum = 1;
  for (int s = 0; s < source; ++s) first += *count.of[s];
  if (edge == 0) offsets[source] = first;
  if (edge == 0 && source == world - 1) offsets[world] = first + *count.of[source];
  if (edge >= *count.of[source]) return;
  for (int r = 0; r < world; ++r) sum += before.of[r][source * most + edge];
  place[first + edge] = sum;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        before_(rank, static_cast<size_t>(rank.world() * args.most) * sizeof(int32_t)),
        counts_(rank, args.count),
        positives_(rank, args.positive) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    const dim3 grid(static_cast<unsigned>((args.most + 63) / 64), world);
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    compare<<<grid, 64, 0, stream>>>(counts_.peers<const int32_t>(), positives_.peers<const float>(), args.negative,
                                     before_.mine<int32_t>(), args.most, args.negatives);
    // all have counted
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    add_up<<<grid, 64, 0, stream>>>(counts_.peers<const int32_t>(), before_.peers<const int32_t>(), args.offsets,
                                    args.place, args.most);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, before_, counts_, positives_;
};
// [/solution]
