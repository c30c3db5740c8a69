// [solution]
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>

// Reads every gradient where it is and adds it to its node by atomic operations: other sums in every run. Kernels that
// are barriers of all ranks stand before and behind.
using fabricbench::Peers;

// Grid: (any, world).
__global__ void add(Peers<const float> gradient, const int32_t* id, float* out, int64_t chunk, int64_t width,
                    int rank) {
  const auto k = static_cast<int>(blockIdx.y), world = static_cast<int>(gridDim.y);
  const int peer = (rank + k) % world, c = (world - k) % world;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < chunk * width; i += gridDim.x * blockDim.x) {
    const int64_t node = id[k * chunk + i / width];
    atomicAdd(&out[node * width + i % width], gradient.of[peer][c * chunk * width + i]);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        gradients_(rank, args.gradient) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    fabricbench::check_cuda(
        cudaMemsetAsync(args.out, 0, static_cast<size_t>(args.nodes * args.width) * sizeof(float), stream));
    // all gradients are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    add<<<dim3(16, world), 256, 0, stream>>>(gradients_.peers<const float>(), args.id, args.out, args.chunk, args.width,
                                             rank_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, gradients_;
};
// [/solution]
