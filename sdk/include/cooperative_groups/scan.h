// cooperative_groups::inclusive_scan and exclusive_scan over the threads of a tile or of a coalesced group.
#pragma once
#pragma GCC system_header
#include "cooperative_groups.h"

#if defined(__CUDA__)
#include "fabricbench/groups/operations.h"

namespace cooperative_groups {

// The combined values of all threads up to this one. Distances double: after the last step each thread has all.
template <class Group, class T, class Op>
FABRICBENCH_DEVICE T inclusive_scan(const Group& group, T value, Op op) {
  const unsigned int rank = static_cast<unsigned int>(group.thread_rank());
  for (unsigned int distance = 1; distance < group.num_threads(); distance *= 2) {
    const T below = group.shfl_up(value, distance);
    if (rank >= distance) value = op(below, value);
  }
  return value;
}
template <class Group, class T>
FABRICBENCH_DEVICE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}

// Of all threads below this one. The first thread gets T().
template <class Group, class T, class Op>
FABRICBENCH_DEVICE T exclusive_scan(const Group& group, T value, Op op) {
  const T below = group.shfl_up(inclusive_scan(group, value, op), 1);
  return group.thread_rank() == 0 ? T() : below;
}
template <class Group, class T>
FABRICBENCH_DEVICE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

// The scan goes on from the value of an atomic, to which the group's total is added.
template <class Group, class Atomic, class T, class Op>
FABRICBENCH_DEVICE T inclusive_scan_update(const Group& group, Atomic& atomic, T value, Op op) {
  const T mine = inclusive_scan(group, value, op);
  const T total = group.shfl(mine, group.num_threads() - 1);
  T before{};
  if (group.thread_rank() == 0) before = fabricbench::update_atomic(atomic, total, op);
  return op(group.shfl(before, 0), mine);
}
template <class Group, class Atomic, class T, class Op>
FABRICBENCH_DEVICE T exclusive_scan_update(const Group& group, Atomic& atomic, T value, Op op) {
  const T mine = inclusive_scan(group, value, op);
  const T total = group.shfl(mine, group.num_threads() - 1);
  const T below = group.shfl_up(mine, 1);
  T before{};
  if (group.thread_rank() == 0) before = fabricbench::update_atomic(atomic, total, op);
  before = group.shfl(before, 0);
  return group.thread_rank() == 0 ? before : op(before, below);
}
template <class Group, class Atomic, class T>
FABRICBENCH_DEVICE T inclusive_scan_update(const Group& group, Atomic& atomic, T value) {
  return inclusive_scan_update(group, atomic, value, plus<T>());
}
template <class Group, class Atomic, class T>
FABRICBENCH_DEVICE T exclusive_scan_update(const Group& group, Atomic& atomic, T value) {
  return exclusive_scan_update(group, atomic, value, plus<T>());
}

}  // namespace cooperative_groups
#endif
