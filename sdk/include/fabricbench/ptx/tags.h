// Tags that stand for the modifiers of an instruction.
#pragma once
#include <stdint.h>

#include "fabricbench/device/address_spaces.h"

namespace cuda {
namespace ptx {

#define TAG(name)     \
  struct name##_t {}; \
  static constexpr name##_t name {}
TAG(space_global);
TAG(space_shared);
TAG(space_cluster);
TAG(sem_weak);
TAG(sem_relaxed);
TAG(sem_acquire);
TAG(sem_release);
TAG(sem_acq_rel);
TAG(sem_sc);
TAG(scope_cta);
TAG(scope_cluster);
TAG(scope_gpu);
TAG(scope_sys);
TAG(op_and_op);
TAG(op_or_op);
TAG(op_xor_op);
TAG(op_add);
TAG(op_inc);
TAG(op_dec);
TAG(op_min);
TAG(op_max);
TAG(cta_group_1);
TAG(cta_group_2);
#undef TAG

// A number that the instruction holds.
template <int kValue>
struct n32_t {};
template <int kValue>
static constexpr n32_t<kValue> n32{};

}  // namespace ptx
}  // namespace cuda

namespace fabricbench {

FABRICBENCH_DEVICE unsigned int shared_address(const void* address) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(address));
}

}  // namespace fabricbench
