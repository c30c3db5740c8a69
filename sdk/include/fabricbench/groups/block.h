// thread_block, and what every group offers.
#pragma once
#include "fabricbench/groups/group.h"

namespace cooperative_groups {

// The threads of this block.
class thread_block : public thread_group {
 public:
  FABRICBENCH_DEVICE thread_block() : thread_group(kWholeBlock) {}

  static FABRICBENCH_DEVICE void sync() { asm volatile("barrier.sync 0;" ::: "memory"); }
  static FABRICBENCH_DEVICE unsigned int thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static FABRICBENCH_DEVICE unsigned int num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static FABRICBENCH_DEVICE unsigned int size() { return num_threads(); }
  static FABRICBENCH_DEVICE dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static FABRICBENCH_DEVICE dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static FABRICBENCH_DEVICE dim3 dim_threads() { return blockDim; }
  static FABRICBENCH_DEVICE dim3 group_dim() { return blockDim; }

  // A barrier in two steps: arrive, do other work, wait.
  struct arrival_token {};
  static FABRICBENCH_DEVICE arrival_token barrier_arrive() { return {}; }
  static FABRICBENCH_DEVICE void barrier_wait(arrival_token&&) { sync(); }
  static FABRICBENCH_DEVICE void barrier_wait() { sync(); }
};

FABRICBENCH_DEVICE thread_block this_thread_block() { return {}; }

template <class Group>
FABRICBENCH_DEVICE void sync(const Group& group) {
  group.sync();
}
template <class Group>
FABRICBENCH_DEVICE auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
FABRICBENCH_DEVICE auto group_size(const Group& group) {
  return group.num_threads();
}

}  // namespace cooperative_groups
