// cooperative_groups::reduce over the threads of a tile or of a coalesced group; every thread gets the result.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

#define OPERATION(name, expression)                                                      \
  template <class T>                                                                     \
  struct name {                                                                          \
    FABRICBENCH_DEVICE T operator()(const T& a, const T& b) const { return expression; } \
  };
OPERATION(plus, a + b)
OPERATION(less, b < a ? b : a)
OPERATION(greater, a < b ? b : a)
OPERATION(bit_and, a& b)
OPERATION(bit_or, a | b)
OPERATION(bit_xor, a ^ b)
#undef OPERATION

// A butterfly: after log2(Size) steps every thread has combined all values.
template <class T, class Op, unsigned int Size, class ParentT>
FABRICBENCH_DEVICE T reduce(const thread_block_tile<Size, ParentT>& tile, T value, Op op) {
#pragma unroll
  for (unsigned int distance = Size / 2; distance > 0; distance /= 2) value = op(value, tile.shfl_xor(value, distance));
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

}  // namespace cooperative_groups
