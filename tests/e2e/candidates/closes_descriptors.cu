// problem: all_reduce_one_shot
// expect: fault
// explains: a rank left in run
// mode: quick
// seconds: 20
// about: Closes all descriptors, that to the machine, too.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <unistd.h>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    for (int descriptor = 0; descriptor < 1024; ++descriptor) close(descriptor);
  }

 private:
  int rank_;
};
// [/solution]
