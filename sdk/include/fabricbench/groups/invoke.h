// invoke_one and invoke_one_broadcast: one thread of the group calls a function.
#pragma once
#include "fabricbench/groups/coalesced.h"

namespace cooperative_groups {

template <class Group, class Function, class... Arguments>
FABRICBENCH_DEVICE void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
}

// Every thread of the group, which is within a warp, gets the result.
template <class Group, class Function, class... Arguments>
FABRICBENCH_DEVICE auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments)
    -> decltype(static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...)) {
  using Result = decltype(static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...));
  union {
    char none;
    Result value;
  } result{};
  if (group.thread_rank() == 0) result.value = static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
  return group.shfl(result.value, 0);
}

}  // namespace cooperative_groups
