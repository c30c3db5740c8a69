// problem: all_reduce_one_shot
// expect: fault
// mode: quick
// seconds: 45
// about: Takes pinned memory of the host, which is shared with the machine, without end.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cstring>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;

    for (size_t taken = 0; taken < size_t{16} << 30; taken += 64 << 20) {
      void* memory = nullptr;
      fabricbench::check_cuda(cudaMallocHost(&memory, 64 << 20), "cudaMallocHost");
      std::memset(memory, 1, 64 << 20);
    }
  }

 private:
  int rank_;
};
// [/solution]
