#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include "args.h"

// The kernel that proves the barrier.
namespace proof {

using fabricbench::Peers;

constexpr int kThreads = 128, kWords = 32, kWarps = kThreads / kWords;
constexpr int kReadBlocks = 4;

struct Shape {
  int rank, world, blocks, rounds;
  unsigned int delay;
  unsigned int first_round;  // since the beginning
};

// Where block `writer` of rank `from` writes, in a board.
__device__ inline int64_t place(const Shape& shape, unsigned int parity, int from, int writer) {
  return ((int64_t{parity} * shape.world + from) * shape.blocks + writer) * kWords;
}

// Which words of `in` rank `from` writes to rank `to`: those of the first other rank also to itself.
__device__ inline int column(int from, int to, int world) { return (to - from - 1 + world) % world % (world - 1); }

template <class Barrier>
__global__ void __launch_bounds__(kThreads)
    meet_and_read(Barrier barrier, Peers<uint32_t> boards, const uint32_t* in, uint32_t* out, Shape shape) {
  __shared__ uint32_t mixed[kWarps][kWords];
  const int block = static_cast<int>(blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWords, lane = static_cast<int>(threadIdx.x) % kWords;

  for (int round = 0; round < shape.rounds; ++round) {
    // Parities go on from call to call. A place is written again two rounds later: behind the next barrier, which
    // no thread has reached before it had read the element.
    const unsigned int number = shape.first_round + static_cast<unsigned int>(round), parity = number % 2;
    if (shape.delay > 0 && number % static_cast<unsigned int>(shape.world) == static_cast<unsigned int>(shape.rank) &&
        number % static_cast<unsigned int>(shape.blocks) == static_cast<unsigned int>(block)) {
      __nanosleep(shape.delay);
    }
    const uint32_t* const mine = in + (int64_t{round} * shape.blocks + block) * (shape.world - 1) * kWords;
    for (int peer = warp; peer < shape.world; peer += kWarps) {
      boards.of[peer][place(shape, parity, shape.rank, block) + lane] =
          mine[column(shape.rank, peer, shape.world) * kWords + lane];
    }

    barrier.wait();

    // Blocks read other blocks' words in each round; all words are read by several.
    uint32_t mix = 0;
    for (int from = warp; from < shape.world; from += kWarps) {
      for (int k = 0; k < min(kReadBlocks, shape.blocks); ++k) {
        const int writer = (block + round * kReadBlocks + k) % shape.blocks;
        mix += boards.of[shape.rank][place(shape, parity, from, writer) + lane] *
               static_cast<uint32_t>(2 * (from * kReadBlocks + k) + 1);
      }
    }
    mixed[warp][lane] = mix;
    __syncthreads();
    if (warp == 0) {
      for (int w = 1; w < kWarps; ++w) mix += mixed[w][lane];
      out[(int64_t{round} * shape.blocks + block) * kWords + lane] = mix;
    }
    __syncthreads();
  }
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        boards_(rank, sizeof(uint32_t) * 2 * static_cast<size_t>(rank.world() * args.blocks) * proof::kWords),
        solution_(rank, static_cast<int>(args.blocks)) {}

  void run(const Args& args, cudaStream_t stream) {
    using Barrier = typename Solution::Barrier;
    const proof::Shape shape{rank_,
                             world_,
                             static_cast<int>(args.blocks),
                             static_cast<int>(args.rounds),
                             static_cast<unsigned int>(args.delay),
                             first_round_};
    proof::meet_and_read<Barrier><<<shape.blocks, proof::kThreads, 0, stream>>>(
        solution_.barrier(), boards_.peers<uint32_t>(), args.in, args.out, shape);
    fabricbench::check_cuda(cudaGetLastError(), "launch");
    first_round_ += static_cast<unsigned int>(args.rounds);
  }

 private:
  int rank_, world_;
  unsigned int first_round_ = 0;
  fabricbench::PeerMemory boards_;
  Solution solution_;
};
