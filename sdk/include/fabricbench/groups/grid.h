// grid_group: all threads of a cooperative launch.
//
// The barrier's state is the grid's workspace, whose address the special registers hold: %envreg1 the upper and
// %envreg2 the lower half; 0 where the launch is not cooperative. Its layout is the one nvcc's PTX expects as well:
//   offset 0  u32  reserved
//   offset 4  u32  the barrier, zero at launch, never touched by anyone else
// Bit 31 of the barrier is its phase. In each phase all blocks but the first add 1, and the first adds what is then
// missing to 2^31: so the bit flips when the last block has arrived, whatever the order, and the lower bits are 0
// again.
#pragma once
#include "fabricbench/atomic/operations.h"
#include "fabricbench/groups/block.h"

namespace cooperative_groups {

class grid_group {
 public:
  FABRICBENCH_DEVICE bool is_valid() const { return workspace() != 0; }

  FABRICBENCH_DEVICE void sync() const {
    if (!is_valid()) __trap();
    thread_block::sync();
    if (thread_block::thread_rank() == 0) {
      auto* barrier = reinterpret_cast<unsigned int*>(workspace() + 4);
      const unsigned int share = block_rank() == 0 ? 0x80000000u - (static_cast<unsigned int>(num_blocks()) - 1) : 1;
      using Device = fabricbench::AtomicOperations<unsigned int, fabricbench::thread_scope_device>;
      const unsigned int old = Device::fetch_add(barrier, share, fabricbench::MemoryOrder::release);
      while (((Device::load(barrier, fabricbench::MemoryOrder::acquire) ^ old) & 0x80000000u) == 0) continue;
    }
    thread_block::sync();
  }

  FABRICBENCH_DEVICE unsigned long long num_blocks() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  FABRICBENCH_DEVICE unsigned long long block_rank() const {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  FABRICBENCH_DEVICE unsigned long long num_threads() const { return num_blocks() * thread_block::num_threads(); }
  FABRICBENCH_DEVICE unsigned long long size() const { return num_threads(); }
  FABRICBENCH_DEVICE unsigned long long thread_rank() const {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  FABRICBENCH_DEVICE unsigned long long cluster_rank() const { return block_rank() / __clusterSizeInBlocks(); }
  FABRICBENCH_DEVICE unsigned long long num_clusters() const { return num_blocks() / __clusterSizeInBlocks(); }
  FABRICBENCH_DEVICE dim3 cluster_index() const { return __clusterIdx(); }
  FABRICBENCH_DEVICE dim3 dim_clusters() const { return __clusterGridDimInClusters(); }
  // A barrier in two steps: arrive, do other work, wait.
  struct arrival_token {};
  FABRICBENCH_DEVICE arrival_token barrier_arrive() const { return {}; }
  FABRICBENCH_DEVICE void barrier_wait(arrival_token&&) const { sync(); }
  FABRICBENCH_DEVICE void barrier_wait() const { sync(); }
  FABRICBENCH_DEVICE dim3 dim_blocks() const { return gridDim; }
  FABRICBENCH_DEVICE dim3 group_dim() const { return gridDim; }
  FABRICBENCH_DEVICE dim3 block_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }

 private:
  static FABRICBENCH_DEVICE unsigned long long workspace() {
    unsigned int high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    return static_cast<unsigned long long>(high) << 32 | low;
  }
};

FABRICBENCH_DEVICE grid_group this_grid() { return {}; }

}  // namespace cooperative_groups
