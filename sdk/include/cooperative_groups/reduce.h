// cooperative_groups::reduce over the threads of a tile or of a coalesced group; every thread gets the result.
#pragma once
#pragma GCC system_header
#include "cooperative_groups.h"

#if defined(__CUDA__)
#include "fabricbench/groups/operations.h"

namespace cooperative_groups {

// A butterfly: after log2(Size) steps every thread has combined all values.
template <class T, class Op, unsigned int Size, class ParentT>
FABRICBENCH_DEVICE auto reduce(const thread_block_tile<Size, ParentT>& tile, T value, Op op) -> decltype(op(value, value)) {
  constexpr unsigned int kLanes = Size < 32 ? Size : 32;
  const auto warp = tile.lanes_of_warp();
#pragma unroll
  for (unsigned int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = op(value, warp.shfl_xor(value, distance));
  }
  if constexpr (Size > 32) {
    // The warps meet in shared memory.
    __shared__ char storage[32 * sizeof(T)];
    T* of_warps = reinterpret_cast<T*>(storage) + thread_block::thread_rank() / Size * (Size / 32);
    if (warp.thread_rank() == 0) of_warps[tile.thread_rank() / 32] = value;
    tile.sync();
    value = of_warps[0];
    for (unsigned int i = 1; i < Size / 32; ++i) value = op(value, of_warps[i]);
    tile.sync();
  }
  return value;
}

// A group of any size: halves that fold onto each other, then the first thread's result to all.
template <class T, class Op>
FABRICBENCH_DEVICE T reduce(const coalesced_group& group, T value, Op op) {
  const unsigned int rank = group.thread_rank();
  for (unsigned int count = group.num_threads(); count > 1;) {
    const unsigned int upper = (count + 1) / 2;
    const T other = group.shfl_down(value, upper);
    if (rank + upper < count) value = op(value, other);
    count = upper;
  }
  return group.shfl(value, 0);
}

// The group's result goes to *to, or is combined with an atomic, by one thread; the others do not wait for it.
template <class Group, class T, class Op>
FABRICBENCH_DEVICE void reduce_store_async(const Group& group, T* to, T value, Op op) {
  value = reduce(group, value, op);
  if (group.thread_rank() == 0) *to = value;
}
template <class Group, class Atomic, class T, class Op>
FABRICBENCH_DEVICE auto reduce_store_async(const Group& group, Atomic& to, T value, Op op) -> decltype(to.store(value)) {
  value = reduce(group, value, op);
  if (group.thread_rank() == 0) to.store(value);
}
template <class Group, class Atomic, class T, class Op>
FABRICBENCH_DEVICE void reduce_update_async(const Group& group, Atomic& to, T value, Op op) {
  value = reduce(group, value, op);
  if (group.thread_rank() == 0) fabricbench::update_atomic(to, value, op);
}

}  // namespace cooperative_groups
#endif
