// problem: all_reduce_one_shot
// expect: budget
// explains: std::bad_alloc
// mode: quick
// seconds: 20
// about: Takes memory of the host and touches all of it, without end.
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

    // The judge must stop it long before: 16 GiB.
    for (size_t taken = 0; taken < size_t{16} << 30; taken += 64 << 20) {
      static char* volatile last;
      last = new char[64 << 20];
      std::memset(last, 1, 64 << 20);
    }
  }

 private:
  int rank_;
};
// [/solution]
