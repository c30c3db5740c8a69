// cuda::barrier at block scope: an mbarrier in shared memory.
#pragma once
#include <stdint.h>

#include "cuda_runtime.h"
#include "fabricbench/aligned_size.h"
#include "fabricbench/atomic/cuda_names.h"
#include "fabricbench/device/async_copy.h"

namespace cuda {

template <thread_scope Scope>
class barrier {
  static_assert(Scope == thread_scope_block, "only a block's barrier is an mbarrier");

 public:
  using arrival_token = uint64_t;

  barrier() = default;
  FABRICBENCH_DEVICE explicit barrier(ptrdiff_t expected) { init(this, expected); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  static constexpr FABRICBENCH_BOTH ptrdiff_t max() { return (1 << 20) - 1; }

  friend FABRICBENCH_DEVICE void init(barrier* b, ptrdiff_t expected) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b->address()), "r"(static_cast<int>(expected)) : "memory");
  }

  [[nodiscard]] FABRICBENCH_DEVICE arrival_token arrive(ptrdiff_t count = 1) {
    arrival_token token;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(token)
                 : "r"(address()), "r"(static_cast<int>(count))
                 : "memory");
    return token;
  }
  FABRICBENCH_DEVICE void wait(arrival_token&& token) const {
    while (!try_wait(token)) continue;
  }
  FABRICBENCH_DEVICE void wait_parity(bool parity) const {
    while (!try_wait_parity(parity)) continue;
  }
  FABRICBENCH_DEVICE void arrive_and_wait() { wait(arrive()); }
  FABRICBENCH_DEVICE void arrive_and_drop() {
    asm volatile("mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }

  FABRICBENCH_DEVICE uint64_t* native_handle() const { return const_cast<uint64_t*>(&state_); }  // ours
  FABRICBENCH_DEVICE unsigned int address() const {                                              // ours
    return static_cast<unsigned int>(__cvta_generic_to_shared(&state_));
  }

 private:
  FABRICBENCH_DEVICE bool try_wait(arrival_token token) const {
    int done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address()), "l"(token)
                 : "memory");
    return done != 0;
  }
  FABRICBENCH_DEVICE bool try_wait_parity(bool parity) const {
    int done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address()), "r"(static_cast<int>(parity))
                 : "memory");
    return done != 0;
  }

  alignas(8) uint64_t state_;
};

// Bytes that arrive by bulk copies count as well: a phase ends when all threads and all bytes have arrived.
namespace device {

FABRICBENCH_DEVICE uint64_t* barrier_native_handle(barrier<thread_scope_block>& b) { return b.native_handle(); }

[[nodiscard]] FABRICBENCH_DEVICE uint64_t barrier_arrive_tx(barrier<thread_scope_block>& b, ptrdiff_t count,
                                                            ptrdiff_t bytes) {
  if (count == 1) {
    uint64_t token;
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(token)
                 : "r"(b.address()), "r"(static_cast<int>(bytes))
                 : "memory");
    return token;
  }
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(b.address()),
               "r"(static_cast<int>(bytes))
               : "memory");
  return b.arrive(count);
}
FABRICBENCH_DEVICE void barrier_expect_tx(barrier<thread_scope_block>& b, ptrdiff_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(b.address()),
               "r"(static_cast<int>(bytes))
               : "memory");
}

// One thread's bulk copy from global to shared memory; it completes on the barrier.
template <class T, size_t Alignment>
FABRICBENCH_DEVICE void memcpy_async_tx(T* to, const T* from, aligned_size_t<Alignment> bytes,
                                        barrier<thread_scope_block>& b) {
  static_assert(Alignment >= 16, "bulk copies move multiples of 16 bytes");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   static_cast<unsigned int>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned int>(bytes.value)), "r"(b.address())
               : "memory");
}

}  // namespace device

// The threads of a group copy together; the copies of a thread count as done when it has arrived.
template <class Group, class T, class Size>
FABRICBENCH_DEVICE void memcpy_async(const Group& group, T* to, const T* from, Size size,
                                     barrier<thread_scope_block>& b) {
  fabricbench::copy_async_together(group, to, from, static_cast<size_t>(size));
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(b.address()) : "memory");
}
// One thread copies alone.
template <class T, class Size>
FABRICBENCH_DEVICE void memcpy_async(T* to, const T* from, Size size, barrier<thread_scope_block>& b) {
  struct Alone {
    FABRICBENCH_DEVICE unsigned int thread_rank() const { return 0; }
    FABRICBENCH_DEVICE unsigned int size() const { return 1; }
  };
  memcpy_async(Alone(), to, from, size, b);
}

}  // namespace cuda
