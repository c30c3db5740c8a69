// thread_group: what a block, the lanes of a warp or a tile of either become when their kind is forgotten.
#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {

class thread_group {
 public:
  FABRICBENCH_DEVICE void sync() const {
    if (whole_block()) {
      asm volatile("barrier.sync 0;" ::: "memory");
    } else {
      __syncwarp(mask_);
    }
  }
  FABRICBENCH_DEVICE unsigned int thread_rank() const {
    if (whole_block()) return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    return __popc(mask_ & ((1u << __nvvm_read_ptx_sreg_laneid()) - 1));
  }
  FABRICBENCH_DEVICE unsigned int num_threads() const {
    return whole_block() ? blockDim.x * blockDim.y * blockDim.z : __popc(mask_);
  }
  FABRICBENCH_DEVICE unsigned int size() const { return num_threads(); }
  FABRICBENCH_DEVICE bool is_valid() const { return true; }

 protected:
  static constexpr unsigned int kWholeBlock = 0;
  // The lanes of this warp, or the whole block.
  explicit FABRICBENCH_DEVICE thread_group(unsigned int mask) : mask_(mask) {}

  unsigned int mask_;

 private:
  template <unsigned int Size, class ParentT>
  friend class thread_block_tile;
  friend FABRICBENCH_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size);

  FABRICBENCH_DEVICE bool whole_block() const { return mask_ == kWholeBlock; }
};

// This thread's run of `size` neighbours, a power of two up to 32, in the order of their ranks.
FABRICBENCH_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size) {
  const unsigned int lanes = parent.whole_block() ? 0xffffffffu : parent.mask_;
  const unsigned int tile = __popc(lanes & ((1u << __nvvm_read_ptx_sreg_laneid()) - 1)) / size;
  unsigned int mask = 0;
  for (unsigned int rest = lanes, rank = 0; rest != 0; rest &= rest - 1, ++rank) {
    if (rank / size == tile) mask |= rest & -rest;
  }
  return thread_group(mask);
}

}  // namespace cooperative_groups
