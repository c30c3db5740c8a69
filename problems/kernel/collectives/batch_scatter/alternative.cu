#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// A barrier of all ranks, by one block: a word for each rank in the memory of each.
__global__ void meet(Peers<uint32_t> words, int rank, int world, uint32_t round) {
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer >= world) return;
  Flag(words.of[peer][rank]).store(round, cuda::memory_order_release);
  while (Flag(words.of[rank][peer]).load(cuda::memory_order_acquire) < round) {
  }
}

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
    meet<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);  // the batch is there
    pull<<<dim3(own, 8), 256, 0, stream>>>(args.root, batches_.peers<const int4>(), reinterpret_cast<int4*>(args.out),
                                           args.words / 4, rank_, world_);
    meet<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);  // all have read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, batches_;
};
// [/solution]
