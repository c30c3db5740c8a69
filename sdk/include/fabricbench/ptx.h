// cuda::ptx: mbarriers, bulk copies and their fences. Each function is the instruction that it is named after; tags
// stand for the modifiers.
#pragma once
#include <stdint.h>

#include "fabricbench/device/address_spaces.h"

namespace cuda::ptx {

// clang-format off
struct space_global_t {};  struct space_shared_t {};  struct space_cluster_t {};
struct sem_acquire_t {};   struct sem_release_t {};
struct scope_cta_t {};     struct scope_cluster_t {};
// clang-format on
inline constexpr space_global_t space_global;
inline constexpr space_shared_t space_shared;
inline constexpr space_cluster_t space_cluster;
inline constexpr sem_acquire_t sem_acquire;
inline constexpr sem_release_t sem_release;
inline constexpr scope_cta_t scope_cta;
inline constexpr scope_cluster_t scope_cluster;

// A number that the instruction holds.
template <int kValue>
struct n32_t {};

FABRICBENCH_DEVICE unsigned int fabricbench_shared(const void* address) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(address));
}

// Younger than the header of CUDA 13.0; NCCL calls it.
FABRICBENCH_DEVICE bool elect_sync(uint32_t mask) {
  int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(elected) : "r"(mask) : "memory");
  return elected != 0;
}

FABRICBENCH_DEVICE void mbarrier_init(uint64_t* barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(fabricbench_shared(barrier)), "r"(count) : "memory");
}

FABRICBENCH_DEVICE uint64_t mbarrier_arrive(uint64_t* barrier) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(fabricbench_shared(barrier)) : "memory");
  return state;
}

#define ARRIVE(scope)                                                                                              \
  FABRICBENCH_DEVICE uint64_t mbarrier_arrive(sem_release_t, scope_##scope##_t, space_shared_t, uint64_t* barrier, \
                                              uint32_t count = 1) {                                                \
    uint64_t state;                                                                                                \
    asm volatile("mbarrier.arrive.release." #scope ".shared::cta.b64 %0, [%1], %2;"                                \
                 : "=l"(state)                                                                                     \
                 : "r"(fabricbench_shared(barrier)), "r"(count)                                                    \
                 : "memory");                                                                                      \
    return state;                                                                                                  \
  }                                                                                                                \
  FABRICBENCH_DEVICE uint64_t mbarrier_arrive_expect_tx(sem_release_t, scope_##scope##_t, space_shared_t,          \
                                                        uint64_t* barrier, uint32_t bytes) {                       \
    uint64_t state;                                                                                                \
    asm volatile("mbarrier.arrive.expect_tx.release." #scope ".shared::cta.b64 %0, [%1], %2;"                      \
                 : "=l"(state)                                                                                     \
                 : "r"(fabricbench_shared(barrier)), "r"(bytes)                                                    \
                 : "memory");                                                                                      \
    return state;                                                                                                  \
  }
ARRIVE(cta)
ARRIVE(cluster)
#undef ARRIVE

// Whether the phase is over: of a state that arriving gave, or of a parity.
#define WAIT(name, instruction, type, letter)                                                      \
  FABRICBENCH_DEVICE bool name(uint64_t* barrier, type phase) {                                    \
    int done;                                                                                      \
    asm volatile("{ .reg .pred p; " instruction ".shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" \
                 : "=r"(done)                                                                      \
                 : "r"(fabricbench_shared(barrier)), letter(phase)                                 \
                 : "memory");                                                                      \
    return done != 0;                                                                              \
  }
WAIT(mbarrier_test_wait, "mbarrier.test_wait", uint64_t, "l")
WAIT(mbarrier_test_wait_parity, "mbarrier.test_wait.parity", uint32_t, "r")
WAIT(mbarrier_try_wait, "mbarrier.try_wait", uint64_t, "l")
WAIT(mbarrier_try_wait_parity, "mbarrier.try_wait.parity", uint32_t, "r")
#undef WAIT

// Copies by one thread. Into shared memory they complete on a barrier, into global memory as part of a group.
FABRICBENCH_DEVICE void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from, uint32_t bytes,
                                      uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   fabricbench_shared(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(fabricbench_shared(barrier))
               : "memory");
}
FABRICBENCH_DEVICE void cp_async_bulk(space_global_t, space_shared_t, void* to, const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(fabricbench_shared(from)), "r"(bytes)
               : "memory");
}
FABRICBENCH_DEVICE void cp_async_bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kPending>
FABRICBENCH_DEVICE void cp_async_bulk_wait_group(n32_t<kPending>) {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
FABRICBENCH_DEVICE void cp_async_bulk_wait_group_read(n32_t<kPending>) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

FABRICBENCH_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
FABRICBENCH_DEVICE void fence_proxy_async(space_global_t) { asm volatile("fence.proxy.async.global;" ::: "memory"); }
FABRICBENCH_DEVICE void fence_proxy_async(space_shared_t) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
FABRICBENCH_DEVICE void fence_mbarrier_init(sem_release_t, scope_cluster_t) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

}  // namespace cuda::ptx
