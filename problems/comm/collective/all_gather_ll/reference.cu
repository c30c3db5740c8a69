#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 64;
constexpr int kThreads = 256;

// Two words of data on their way to a peer: in each half the lower 32 bits are data, the upper ones the call's number.
// The line moves by one 16-byte access, which PTX sees as two accesses of 8 bytes: each half is indivisible, the line
// need not be. So each half has its own flag. Data and flag are one value, hence there is nothing to order: relaxed
// accesses are enough. They are at system scope, because writer and reader are on different GPUs.
struct alignas(16) Line {
  uint64_t half[2];
};

__device__ uint64_t with_flag(uint32_t data, uint32_t flag) { return uint64_t{flag} << 32 | data; }

__device__ void send(Line* to, uint2 data, uint32_t flag) {
  asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(with_flag(data.x, flag)),
               "l"(with_flag(data.y, flag))
               : "memory");
}

__device__ uint2 receive(const Line* from, uint32_t flag) {
  uint64_t x, y;
  do {
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(from) : "memory");
  } while (x >> 32 != flag || y >> 32 != flag);
  return make_uint2(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
}

// Each rank has a receive buffer of lines [call % 2][sender][lines]. Why two sets are enough, and one is not:
//
// In call e, rank s stores into the slots of set e % 2 on rank r. They hold the lines of call e - 2, and r must have
// read these. It has: s ended call e - 1 only after it had received r's lines of call e - 1, and r sent those in a
// kernel that its stream started after the kernel of call e - 2, which had read the slots, had ended. With one set s
// would overwrite lines of call e - 1, of which r's own lines of that call say nothing: r sends before it reads.
//
// The flag left in a slot is e - 2 (or the 0 of fresh memory; calls count from 1), never e, so old data is not taken
// for new. Only the sender writes a slot, and only the rank itself touches its in and out: no barrier at either
// end.
__global__ void __launch_bounds__(kThreads)
    all_gather(Peers<Line> buffers, const uint32_t* in, uint32_t* out, int n, int rank, int world, uint32_t call) {
  const int thread = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(gridDim.x) * kThreads;
  const int lines = (n + 1) / 2, set = static_cast<int>(call % 2) * world * lines;

  // All lines of all peers are spread over the threads: with few of them, every line is under way at once. Everything
  // is sent before anything is waited for.
  for (int item = thread; item < (world - 1) * lines; item += threads) {
    const int line = item % lines, peer = (rank + 1 + item / lines) % world;
    const uint2 data = 2 * line + 1 < n ? __ldg(reinterpret_cast<const uint2*>(in) + line)
                                        : make_uint2(in[2 * line], 0);  // an odd end
    send(buffers.of[peer] + set + rank * lines + line, data, call);
  }
  for (int i = thread; i < n; i += threads) out[rank * n + i] = in[i];
  for (int item = thread; item < (world - 1) * lines; item += threads) {
    const int line = item % lines, peer = (rank + 1 + item / lines) % world;
    const uint2 data = receive(buffers.of[rank] + set + peer * lines + line, call);
    uint32_t* to = out + peer * n + 2 * line;  // rows of odd length: no 8-byte stores
    to[0] = data.x;
    if (2 * line + 1 < n) to[1] = data.y;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        buffers_(rank, 2 * static_cast<size_t>(rank.world()) * static_cast<size_t>((args.n + 1) / 2) * sizeof(Line)) {}

  void run(const Args& args, cudaStream_t stream) {
    const int n = static_cast<int>(args.n), items = (world_ - 1) * ((n + 1) / 2);
    const int blocks = std::min(kBlocks, (items + kThreads - 1) / kThreads);
    all_gather<<<blocks, kThreads, 0, stream>>>(buffers_.peers<Line>(), args.in, args.out, n, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory buffers_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-gather
//|   }
//| };
// [/solution]
