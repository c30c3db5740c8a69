// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;

// Reads this rank's items from the root. Grid: (items of this rank, blocks that share an item).
__global__ void pull(const int32_t* root, Peers<const int4> batch, int4* out, int64_t quads, int rank, int world) {
  const int4* from = batch.of[*root] + (blockIdx.x * int64_t{world} + rank) * quads;
  for (int64_t q = blockIdx.y * blockDim.x + threadIdx.x; q < quads; q += gridDim.y * blockDim.x)
    out[blockIdx.x * quads + q] = from[q];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), batches_(rank, args.batch) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto own = static_cast<unsigned>((args.items - rank_ + world_ - 1) / world_);
    // the batch is there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    pull<<<dim3(own, 8), 256, 0, stream>>>(args.root, batches_.peers<const int4>(), reinterpret_cast<int4*>(args.out),
                                           args.words / 4, rank_, world_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, batches_;
};
// [/solution]
