// mbarriers: objects in shared memory that count arrivals and bytes.
#pragma once
#include "fabricbench/ptx/tags.h"

namespace cuda {
namespace ptx {

FABRICBENCH_DEVICE void mbarrier_init(uint64_t* barrier, const uint32_t& count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(fabricbench::shared_address(barrier)), "r"(count) : "memory");
}
FABRICBENCH_DEVICE void mbarrier_inval(uint64_t* barrier) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(fabricbench::shared_address(barrier)) : "memory");
}
#define ARRIVE(name, modifiers, ...)                                      \
  FABRICBENCH_DEVICE uint64_t name(__VA_ARGS__ uint64_t* barrier) {       \
    uint64_t state;                                                       \
    asm volatile("mbarrier.arrive" modifiers ".shared::cta.b64 %0, [%1];" \
                 : "=l"(state)                                            \
                 : "r"(fabricbench::shared_address(barrier))              \
                 : "memory");                                             \
    return state;                                                         \
  }
#define ARRIVE_COUNT(name, modifiers, ...)                                                 \
  FABRICBENCH_DEVICE uint64_t name(__VA_ARGS__ uint64_t* barrier, const uint32_t& count) { \
    uint64_t state;                                                                        \
    asm volatile("mbarrier.arrive" modifiers ".shared::cta.b64 %0, [%1], %2;"              \
                 : "=l"(state)                                                             \
                 : "r"(fabricbench::shared_address(barrier)), "r"(count)                   \
                 : "memory");                                                              \
    return state;                                                                          \
  }
ARRIVE(mbarrier_arrive, "")
ARRIVE_COUNT(mbarrier_arrive, "")
ARRIVE_COUNT(mbarrier_arrive_no_complete, ".noComplete")
#define SCOPED(scope)                                                                                             \
  ARRIVE(mbarrier_arrive, ".release." #scope, sem_release_t, scope_##scope##_t, space_shared_t, )                 \
  ARRIVE_COUNT(mbarrier_arrive, ".release." #scope, sem_release_t, scope_##scope##_t, space_shared_t, )           \
  ARRIVE(mbarrier_arrive, ".relaxed." #scope, sem_relaxed_t, scope_##scope##_t, space_shared_t, )                 \
  ARRIVE_COUNT(mbarrier_arrive, ".relaxed." #scope, sem_relaxed_t, scope_##scope##_t, space_shared_t, )           \
  ARRIVE_COUNT(mbarrier_arrive_expect_tx, ".expect_tx.release." #scope, sem_release_t, scope_##scope##_t,         \
               space_shared_t, )                                                                                  \
  FABRICBENCH_DEVICE void mbarrier_expect_tx(sem_relaxed_t, scope_##scope##_t, space_shared_t, uint64_t* barrier, \
                                             uint32_t bytes) {                                                    \
    asm volatile("mbarrier.expect_tx.relaxed." #scope                                                             \
                 ".shared::cta.b64 [%0], %1;" ::"r"(fabricbench::shared_address(barrier)),                        \
                 "r"(bytes)                                                                                       \
                 : "memory");                                                                                     \
  }
SCOPED(cta)
SCOPED(cluster)
#undef SCOPED
#undef ARRIVE_COUNT
#undef ARRIVE

// At the barrier of another block of the cluster.
FABRICBENCH_DEVICE void mbarrier_arrive(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t* barrier) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(fabricbench::shared_address(barrier))
      : "memory");
}
FABRICBENCH_DEVICE void mbarrier_arrive(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t* barrier,
                                        const uint32_t& count) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(fabricbench::shared_address(barrier)),
      "r"(count)
      : "memory");
}
FABRICBENCH_DEVICE void mbarrier_arrive_expect_tx(sem_release_t, scope_cluster_t, space_cluster_t, uint64_t* barrier,
                                                  const uint32_t& bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                   fabricbench::shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
FABRICBENCH_DEVICE void mbarrier_expect_tx(sem_relaxed_t, scope_cluster_t, space_cluster_t, uint64_t* barrier,
                                           uint32_t bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(fabricbench::shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Whether the phase is over: of a state that arriving gave, or of a parity. try_wait may wait a while.
#define WAIT(name, modifiers, type, letter, ...)                                                               \
  FABRICBENCH_DEVICE bool name(__VA_ARGS__ uint64_t* barrier, const type& phase) {                             \
    int done;                                                                                                  \
    asm volatile("{ .reg .pred p; mbarrier." modifiers ".shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" \
                 : "=r"(done)                                                                                  \
                 : "r"(fabricbench::shared_address(barrier)), letter(phase)                                    \
                 : "memory");                                                                                  \
    return done != 0;                                                                                          \
  }
#define WAIT_HINT(name, modifiers, type, letter, ...)                                                              \
  FABRICBENCH_DEVICE bool name(__VA_ARGS__ uint64_t* barrier, const type& phase, const uint32_t& nanoseconds) {    \
    int done;                                                                                                      \
    asm volatile("{ .reg .pred p; mbarrier." modifiers ".shared::cta.b64 p, [%1], %2, %3; selp.s32 %0, 1, 0, p; }" \
                 : "=r"(done)                                                                                      \
                 : "r"(fabricbench::shared_address(barrier)), letter(phase), "r"(nanoseconds)                      \
                 : "memory");                                                                                      \
    return done != 0;                                                                                              \
  }
#define WAITS(type, parity, letter)                                                                               \
  WAIT(mbarrier_test_wait##parity, "test_wait" PARITY##parity, type, letter)                                      \
  WAIT(mbarrier_test_wait##parity, "test_wait" PARITY##parity ".acquire.cta", type, letter, sem_acquire_t,        \
       scope_cta_t, )                                                                                             \
  WAIT(mbarrier_test_wait##parity, "test_wait" PARITY##parity ".acquire.cluster", type, letter, sem_acquire_t,    \
       scope_cluster_t, )                                                                                         \
  WAIT(mbarrier_try_wait##parity, "try_wait" PARITY##parity, type, letter)                                        \
  WAIT_HINT(mbarrier_try_wait##parity, "try_wait" PARITY##parity, type, letter)                                   \
  WAIT(mbarrier_try_wait##parity, "try_wait" PARITY##parity ".acquire.cta", type, letter, sem_acquire_t,          \
       scope_cta_t, )                                                                                             \
  WAIT_HINT(mbarrier_try_wait##parity, "try_wait" PARITY##parity ".acquire.cta", type, letter, sem_acquire_t,     \
            scope_cta_t, )                                                                                        \
  WAIT(mbarrier_try_wait##parity, "try_wait" PARITY##parity ".acquire.cluster", type, letter, sem_acquire_t,      \
       scope_cluster_t, )                                                                                         \
  WAIT_HINT(mbarrier_try_wait##parity, "try_wait" PARITY##parity ".acquire.cluster", type, letter, sem_acquire_t, \
            scope_cluster_t, )
#define PARITY ""
#define PARITY_parity ".parity"
WAITS(uint64_t, , "l")
WAITS(uint32_t, _parity, "r")
#undef PARITY_parity
#undef PARITY
#undef WAITS
#undef WAIT_HINT
#undef WAIT

}  // namespace ptx
}  // namespace cuda
