// problem: all_reduce_one_shot
// expect: budget
// explains: requests: a loop that does not end
// mode: quick
// seconds: 45
// about: run of rank 1 never returns: it asks the CUDA library for ever.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;
    while (cudaStreamQuery(stream) != cudaErrorUnknown) {
    }
  }

 private:
  int rank_;
};
// [/solution]
