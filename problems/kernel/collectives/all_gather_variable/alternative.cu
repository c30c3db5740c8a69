// [solution]
#include <fabricbench/rank_barrier.h>

// Reads the lengths and then the tokens where they are, between two kernels that are barriers of all ranks: the stream
// orders the three.
using fabricbench::Peers;

// Grid: (any, world).
__global__ void pull(Peers<const int32_t> lengths, Peers<const int4> in, int32_t* offsets, int4* out, int64_t quads,
                     int rank) {
  const int world = static_cast<int>(gridDim.y), source = (rank + static_cast<int>(blockIdx.y)) % world;
  __shared__ int32_t length[fabricbench::kMostRanks];
  if (static_cast<int>(threadIdx.x) < world) length[threadIdx.x] = *lengths.of[threadIdx.x];
  __syncthreads();
  int64_t before = 0;
  for (int r = 0; r < source; ++r) before += length[r];
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (source == 0) offsets[0] = 0;
    offsets[source + 1] = static_cast<int32_t>(before + length[source]);
  }
  const int64_t count = length[source] * quads;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    out[before * quads + i] = in.of[source][i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        lengths_(rank, args.length),
        inputs_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    pull<<<dim3(16, static_cast<unsigned>(world_)), 128, 0, stream>>>(
        lengths_.peers<const int32_t>(), inputs_.peers<const int4>(), args.offsets, reinterpret_cast<int4*>(args.out),
        args.hidden / 8, rank_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, lengths_, inputs_;
};
// [/solution]
