// problem: all_gather_ll
// expect: race
// mode: quick
// seconds: 40
// about: Three words and their number travel in one store of 16 bytes, although only 8 are indivisible.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kThreads = 256;

__global__ void gather(Peers<uint4> box, const uint32_t* in, uint32_t* out, int64_t n, int rank, int world,
                       uint32_t call) {
  const int64_t lines = (n + 2) / 3, set = call % 2 * world * lines;
  for (int64_t i = threadIdx.x; i < lines; i += kThreads) {
    uint32_t word[3];
    for (int k = 0; k < 3; ++k) word[k] = 3 * i + k < n ? in[3 * i + k] : 0;
    for (int peer = 0; peer < world; ++peer) {
      asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(box.of[peer] + set + rank * lines + i),
                   "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(call)
                   : "memory");
    }
  }
  for (int64_t i = threadIdx.x; i < world * lines; i += kThreads) {
    uint32_t word[3], number;
    do {
      asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(number)
                   : "l"(box.of[rank] + set + i)
                   : "memory");
    } while (number != call);
    const int64_t row = i / lines, first = 3 * (i % lines);
    for (int k = 0; k < 3; ++k) {
      if (first + k < n) out[row * n + first + k] = word[k];
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), box_(rank, 16 * 2 * ((args.n + 2) / 3) * rank.world()) {}
  void run(const Args& args, cudaStream_t stream) {
    gather<<<1, kThreads, 0, stream>>>(box_.peers<uint4>(), args.in, args.out, args.n, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory box_;
};
// [/solution]
