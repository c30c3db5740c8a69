// problem: all_reduce_one_shot
// expect: fault
// explains: no more room
// mode: quick
// seconds: 20
// about: Writes files to /tmp until it cannot.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fstream>
#include <stdexcept>
#include <string>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;

    const std::string block(1 << 20, 'x');
    // Two gigabytes, if it is not stopped.
    for (int k = 0; k < 2048; ++k) {
      std::ofstream file("/tmp/flood." + std::to_string(k));
      file << block;
      file.flush();
      if (!file) throw std::runtime_error("no more room");
    }
  }

 private:
  int rank_;
};
// [/solution]
