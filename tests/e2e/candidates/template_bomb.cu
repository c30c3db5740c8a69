// problem: all_reduce_one_shot
// expect: compile_error
// mode: quick
// seconds: 60
// about: Templates that double at each level: the compiler would need for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
template <int kDepth, unsigned kPath>
struct Bomb {
  static constexpr unsigned long value = Bomb<kDepth - 1, 2 * kPath>::value + Bomb<kDepth - 1, 2 * kPath + 1>::value;
};
template <unsigned kPath>
struct Bomb<0, kPath> {
  static constexpr unsigned long value = 1;
};
constexpr unsigned long kBoom = Bomb<30, 0>::value;

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {}
  void run(const Args& args, cudaStream_t stream) {}
};
// [/solution]
