// Special registers, fences, cluster barriers, and single instructions of a thread or a warp.
#pragma once
#include "fabricbench/ptx/tags.h"

namespace cuda {
namespace ptx {

#define SPECIAL_REGISTER(name, reg, type, ptx_type, letter)          \
  FABRICBENCH_DEVICE type get_sreg_##name() {                        \
    type value;                                                      \
    asm volatile("mov." ptx_type " %0, %%" reg ";" : letter(value)); \
    return value;                                                    \
  }
#include "fabricbench/ptx/special_registers.def"
FABRICBENCH_DEVICE bool get_sreg_is_explicit_cluster() { return __nvvm_is_explicit_cluster(); }

#define FENCE(sem, scope)                                           \
  FABRICBENCH_DEVICE void fence(sem_##sem##_t, scope_##scope##_t) { \
    asm volatile("fence." #sem "." #scope ";" ::: "memory");        \
  }
#define FENCES(scope)                                                                                          \
  FENCE(sc, scope)                                                                                             \
  FENCE(acq_rel, scope)                                                                                        \
  FABRICBENCH_DEVICE void fence_proxy_tensormap_generic(sem_release_t, scope_##scope##_t) {                    \
    asm volatile("fence.proxy.tensormap::generic.release." #scope ";" ::: "memory");                           \
  }                                                                                                            \
  FABRICBENCH_DEVICE void fence_proxy_tensormap_generic(sem_acquire_t, scope_##scope##_t, const void* address, \
                                                        n32_t<128>) {                                          \
    asm volatile("fence.proxy.tensormap::generic.acquire." #scope " [%0], 128;" ::"l"(address) : "memory");    \
  }
FENCES(cta)
FENCES(cluster)
FENCES(gpu)
FENCES(sys)
#undef FENCES
#undef FENCE
FABRICBENCH_DEVICE void fence_proxy_alias() { asm volatile("fence.proxy.alias;" ::: "memory"); }
FABRICBENCH_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
FABRICBENCH_DEVICE void fence_proxy_async(space_global_t) { asm volatile("fence.proxy.async.global;" ::: "memory"); }
FABRICBENCH_DEVICE void fence_proxy_async(space_cluster_t) {
  asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
}
FABRICBENCH_DEVICE void fence_proxy_async(space_shared_t) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
FABRICBENCH_DEVICE void fence_mbarrier_init(sem_release_t, scope_cluster_t) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

FABRICBENCH_DEVICE void barrier_cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
FABRICBENCH_DEVICE void barrier_cluster_arrive(sem_release_t) {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
FABRICBENCH_DEVICE void barrier_cluster_arrive(sem_relaxed_t) { asm volatile("barrier.cluster.arrive.relaxed;"); }
FABRICBENCH_DEVICE void barrier_cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
FABRICBENCH_DEVICE void barrier_cluster_wait(sem_acquire_t) {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
FABRICBENCH_DEVICE uint32_t getctarank(space_cluster_t, const void* address) {
  uint32_t rank;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(fabricbench::shared_address(address)));
  return rank;
}

// Younger than the header of CUDA 13.0; NCCL calls it.
FABRICBENCH_DEVICE bool elect_sync(uint32_t mask) {
  int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(elected) : "r"(mask) : "memory");
  return elected != 0;
}
FABRICBENCH_DEVICE void exit() { asm volatile("exit;"); }
FABRICBENCH_DEVICE void trap() { asm volatile("trap;"); }

#define BIT_FIND(type, ptx, letter)                                   \
  FABRICBENCH_DEVICE uint32_t bfind(type value) {                     \
    uint32_t at;                                                      \
    asm("bfind." ptx " %0, %1;" : "=r"(at) : letter(value));          \
    return at;                                                        \
  }                                                                   \
  FABRICBENCH_DEVICE uint32_t bfind_shiftamt(type value) {            \
    uint32_t at;                                                      \
    asm("bfind.shiftamt." ptx " %0, %1;" : "=r"(at) : letter(value)); \
    return at;                                                        \
  }
BIT_FIND(uint32_t, "u32", "r")
BIT_FIND(int32_t, "s32", "r")
BIT_FIND(uint64_t, "u64", "l")
BIT_FIND(int64_t, "s64", "l")
#undef BIT_FIND

#define OF_WORDS(name, ptx)                                                                           \
  template <class A, class B>                                                                         \
  FABRICBENCH_DEVICE uint32_t name(A a, B b, uint32_t selector) {                                     \
    static_assert(sizeof(A) == 4 && sizeof(B) == 4, "words of 32 bits");                              \
    uint32_t result;                                                                                  \
    asm("prmt.b32" ptx " %0, %1, %2, %3;"                                                             \
        : "=r"(result)                                                                                \
        : "r"(__builtin_bit_cast(uint32_t, a)), "r"(__builtin_bit_cast(uint32_t, b)), "r"(selector)); \
    return result;                                                                                    \
  }
OF_WORDS(prmt, "")
OF_WORDS(prmt_f4e, ".f4e")
OF_WORDS(prmt_b4e, ".b4e")
OF_WORDS(prmt_rc8, ".rc8")
OF_WORDS(prmt_ecl, ".ecl")
OF_WORDS(prmt_ecr, ".ecr")
OF_WORDS(prmt_rc16, ".rc16")
#undef OF_WORDS

#define SHIFT(name, type, ptx, letter)                                         \
  FABRICBENCH_DEVICE type name(type value, uint32_t amount) {                  \
    type result;                                                               \
    asm(ptx " %0, %1, %2;" : "=" letter(result) : letter(value), "r"(amount)); \
    return result;                                                             \
  }
SHIFT(shl, uint16_t, "shl.b16", "h")
SHIFT(shl, uint32_t, "shl.b32", "r")
SHIFT(shl, uint64_t, "shl.b64", "l")
SHIFT(shr, uint16_t, "shr.u16", "h")
SHIFT(shr, uint32_t, "shr.u32", "r")
SHIFT(shr, uint64_t, "shr.u64", "l")
SHIFT(shr, int16_t, "shr.s16", "h")
SHIFT(shr, int32_t, "shr.s32", "r")
SHIFT(shr, int64_t, "shr.s64", "l")
#undef SHIFT

}  // namespace ptx
}  // namespace cuda
