// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;

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
    // all parts are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const int64_t quads = args.width / 8;
    const dim3 grid(static_cast<unsigned>(args.items),
                    static_cast<unsigned>(std::min<int64_t>(8, (quads + 255) / 256)));
    pull<<<grid, 256, 0, stream>>>(args.root, parts_.peers<const int4>(), reinterpret_cast<int4*>(args.all), quads,
                                   rank_, world_);
    // the root has read them
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, parts_;
};
// [/solution]
