// cooperative_groups::memcpy_async: the threads of a group copy from global to shared memory together.
#pragma once
#pragma GCC system_header
#include "cooperative_groups.h"

#if defined(__CUDA__)
#include "fabricbench/aligned_size.h"
#include "fabricbench/device/async_copy.h"

namespace cooperative_groups {

// One group of copies per call.
template <class Group, class T>
FABRICBENCH_DEVICE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  fabricbench::copy_async_together(group, to, from, bytes);
  fabricbench::commit_async_copies();
}
template <class Group, class T, size_t Alignment>
FABRICBENCH_DEVICE void memcpy_async(const Group& group, T* to, const T* from, cuda::aligned_size_t<Alignment> bytes) {
  memcpy_async(group, to, from, static_cast<size_t>(bytes));
}

// All but the last Pending calls are complete, for all threads of the group.
template <unsigned int Pending, class Group>
FABRICBENCH_DEVICE void wait_prior(const Group& group) {
  fabricbench::wait_for_async_copies<Pending>();
  group.sync();
}
template <class Group>
FABRICBENCH_DEVICE void wait(const Group& group) {
  wait_prior<0>(group);
}

}  // namespace cooperative_groups
#endif
