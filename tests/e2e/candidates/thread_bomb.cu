// problem: all_reduce_one_shot
// expect: fault
// explains: Resource temporarily unavailable
// mode: quick
// seconds: 20
// about: Starts threads without end.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <chrono>
#include <thread>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {}
  void run(const Args&, cudaStream_t stream) {
    if (rank_ != 1) return;

    for (int k = 0; k < 4000; ++k) std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }

 private:
  int rank_;
};
// [/solution]
