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

// Reads all heads of the tokens of this rank from the ranks that have them. Grid: (tokens, world).
__global__ void pull(Peers<int4> in, int4* out, int64_t quads, int rank) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, world = gridDim.y;
  const int source = (rank + static_cast<int>(blockIdx.y)) % static_cast<int>(world);
  for (int64_t q = threadIdx.x; q < quads; q += blockDim.x)
    out[(token * world + source) * quads + q] = in.of[source][(rank * tokens + token) * quads + q];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), inputs_(rank, args.in) {}

  void run(const Args& args, cudaStream_t stream) {
    meet<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);  // all inputs are there
    const dim3 grid(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    pull<<<grid, 128, 0, stream>>>(inputs_.peers<int4>(), reinterpret_cast<int4*>(args.out), args.heads * args.dim / 8,
                                   rank_);
    meet<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);  // all have read
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, inputs_;
};
// [/solution]
