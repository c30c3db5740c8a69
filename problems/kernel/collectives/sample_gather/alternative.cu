#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
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

// The root reads all items where they are. Grid: (items, blocks that share an item).
__global__ void pull(const int32_t* root, Peers<const int4> parts, int4* all, int64_t quads, int rank, int world) {
  const int64_t item = blockIdx.x;
  const int4* from = parts.of[item % world] + item / world * quads;
  for (int64_t q = blockIdx.y * blockDim.x + threadIdx.x; q < quads; q += gridDim.y * blockDim.x)
    all[item * quads + q] = *root == rank ? from[q] : make_int4(0, 0, 0, 0);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), parts_(rank, args.part) {}

  void run(const Args& args, cudaStream_t stream) {
    meet<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);  // all parts are there
    const int64_t quads = args.width / 8;
    const dim3 grid(static_cast<unsigned>(args.items),
                    static_cast<unsigned>(std::min<int64_t>(8, (quads + 255) / 256)));
    pull<<<grid, 256, 0, stream>>>(args.root, parts_.peers<const int4>(), reinterpret_cast<int4*>(args.all), quads,
                                   rank_, world_);
    meet<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);  // the root has read them
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, parts_;
};
// [/solution]
