// problem: all_reduce_one_shot
// expect: budget
// mode: quick
// seconds: 45
// about: Prints without end.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cstdio>
#include <string>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;

    const std::string line(4095, 'x');
    while (true) std::puts(line.c_str());
  }

 private:
  int rank_;
};
// [/solution]
