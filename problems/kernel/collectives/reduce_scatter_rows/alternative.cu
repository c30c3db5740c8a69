// [solution]
#include <fabricbench/rank_barrier.h>

// The other way round, and with plain kernels: each rank sends every row to a slot of its owner, a barrier, and
// the owner adds up its slots. There are two sets of slots, used in turn: a rank that is a call ahead writes the other
// one, and it can't be two ahead.
using fabricbench::Peers;
constexpr int kThreads = 128;

// A row for each block. Slots: [sender][row][quad].
__global__ void send(const uint4* partial, Peers<uint4> slots, int64_t quads, int rank, int world) {
  const int64_t row = blockIdx.x, rows = gridDim.x, longest = (rows + world - 1) / world;
  int owner = 0;
  while (row >= (owner + 1) * rows / world) ++owner;
  uint4* to = slots.of[owner] + (rank * longest + row - owner * rows / world) * quads;
  for (int64_t q = threadIdx.x; q < quads; q += kThreads) to[q] = partial[row * quads + q];
}

__global__ void add(const __nv_bfloat162* slots, __nv_bfloat162* out, int64_t longest, int64_t pairs, int world) {
  for (int64_t k = threadIdx.x; k < pairs; k += kThreads) {
    float2 sum = make_float2(0, 0);
#pragma unroll 4
    for (int r = world - 1; r >= 0; --r) {
      const float2 v = __bfloat1622float2(slots[(r * longest + blockIdx.x) * pairs + k]);
      sum = make_float2(sum.x + v.x, sum.y + v.y);
    }
    out[blockIdx.x * pairs + k] = __float22bfloat162_rn(sum);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        longest_((args.rows + world_ - 1) / world_),
        set_(static_cast<size_t>(world_ * longest_ * args.cols) * sizeof(__nv_bfloat16)),
        words_(rank, 64 * sizeof(uint32_t)),
        slots_(rank, 2 * set_) {}

  void run(const Args& args, cudaStream_t stream) {
    const size_t at = ++call_ % 2 * set_;
    const int64_t own = (rank_ + 1) * args.rows / world_ - rank_ * args.rows / world_;
    send<<<static_cast<unsigned>(args.rows), kThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(args.partial), slots_.peers<uint4>(at), args.cols / 8, rank_, world_);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, call_);
    add<<<static_cast<unsigned>(own), kThreads, 0, stream>>>(
        slots_.mine<__nv_bfloat162>(at), reinterpret_cast<__nv_bfloat162*>(args.out), longest_, args.cols / 2, world_);
  }

 private:
  int rank_, world_;
  int64_t longest_;  // rows of a share, at most
  size_t set_;       // bytes
  uint32_t call_ = 0;
  fabricbench::PeerMemory words_, slots_;
};
// [/solution]
