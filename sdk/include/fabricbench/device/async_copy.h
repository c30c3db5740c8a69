// cp.async: copies from global to shared memory that the thread does not wait for.
#pragma once
#include "fabricbench/device/address_spaces.h"

namespace fabricbench {

// 4, 8 or 16 bytes, of which the last `zeros` are not read but written as zero.
FABRICBENCH_DEVICE void copy_async(void* shared, const void* global, __SIZE_TYPE__ bytes, __SIZE_TYPE__ zeros = 0) {
  const auto to = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
  const auto from = __cvta_generic_to_global(global);
  const auto read = static_cast<unsigned int>(bytes - zeros);
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  } else if (bytes == 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  }
}

FABRICBENCH_DEVICE void commit_async_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until all but the last kPending groups of copies are complete.
template <int kPending>
FABRICBENCH_DEVICE void wait_for_async_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Started by all threads of a group: the largest pieces that both addresses and the size allow, dealt round.
template <class Group>
FABRICBENCH_DEVICE void copy_async_together(const Group& group, void* shared, const void* global, __SIZE_TYPE__ bytes) {
  auto* to = static_cast<char*>(shared);
  const auto* from = static_cast<const char*>(global);
  const auto bits = reinterpret_cast<__SIZE_TYPE__>(to) | reinterpret_cast<__SIZE_TYPE__>(from) | bytes;
  const __SIZE_TYPE__ piece = bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 1;
  for (__SIZE_TYPE__ at = group.thread_rank() * piece; at < bytes; at += group.size() * piece) {
    if (piece == 1) {
      to[at] = from[at];
    } else {
      copy_async(to + at, from + at, piece);
    }
  }
}

}  // namespace fabricbench
