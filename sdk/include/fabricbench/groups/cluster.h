// cluster_group: the blocks of one cluster, which can read and write each other's shared memory.
#pragma once
#include "fabricbench/groups/block.h"

namespace cooperative_groups {

class cluster_group {
 public:
  // Arriving releases and waiting acquires, at cluster scope.
  struct arrival_token {};
  static FABRICBENCH_DEVICE arrival_token barrier_arrive() {
    __cluster_barrier_arrive();
    return {};
  }
  static FABRICBENCH_DEVICE void barrier_wait() { __cluster_barrier_wait(); }
  static FABRICBENCH_DEVICE void barrier_wait(arrival_token&&) { __cluster_barrier_wait(); }
  static FABRICBENCH_DEVICE void sync() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }

  // The same variable in the shared memory of another block, and the rank of the block that owns an address.
  template <class T>
  static FABRICBENCH_DEVICE T* map_shared_rank(T* address, int rank) {
    return static_cast<T*>(__cluster_map_shared_rank(address, static_cast<unsigned int>(rank)));
  }
  static FABRICBENCH_DEVICE unsigned int query_shared_rank(const void* address) {
    return __cluster_query_shared_rank(address);
  }

  static FABRICBENCH_DEVICE dim3 block_index() {
    return dim3(__nvvm_read_ptx_sreg_cluster_ctaid_x(), __nvvm_read_ptx_sreg_cluster_ctaid_y(),
                __nvvm_read_ptx_sreg_cluster_ctaid_z());
  }
  static FABRICBENCH_DEVICE dim3 dim_blocks() {
    return dim3(__nvvm_read_ptx_sreg_cluster_nctaid_x(), __nvvm_read_ptx_sreg_cluster_nctaid_y(),
                __nvvm_read_ptx_sreg_cluster_nctaid_z());
  }
  static FABRICBENCH_DEVICE dim3 thread_index() {
    const dim3 block = block_index();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                block.z * blockDim.z + threadIdx.z);
  }
  static FABRICBENCH_DEVICE dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
  }
  static FABRICBENCH_DEVICE bool is_valid() { return true; }
  static FABRICBENCH_DEVICE unsigned int block_rank() { return __clusterRelativeBlockRank(); }
  static FABRICBENCH_DEVICE unsigned int num_blocks() { return __clusterSizeInBlocks(); }
  static FABRICBENCH_DEVICE unsigned int thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static FABRICBENCH_DEVICE unsigned int num_threads() { return num_blocks() * thread_block::num_threads(); }
  static FABRICBENCH_DEVICE unsigned int size() { return num_threads(); }
};

FABRICBENCH_DEVICE cluster_group this_cluster() { return {}; }

}  // namespace cooperative_groups
