// cuda::atomic, cuda::atomic_ref, fences.
#pragma once
#include <cstddef>

#include "fabricbench/atomic/cuda_names.h"
#include "fabricbench/atomic/operations.h"

namespace fabricbench {

// The members that atomic and atomic_ref share; Derived::address() says where the object is.
template <class Derived, class T, cuda::thread_scope kScope>
class AtomicMembers {
  using Do = AtomicOperations<T, kScope>;
  using Order = cuda::memory_order;
  static constexpr Order kSequential = cuda::memory_order_seq_cst;

 public:
  using value_type = T;
  using difference_type = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;
  static constexpr bool is_always_lock_free = true;
  FABRICBENCH_BOTH bool is_lock_free() const { return true; }

  FABRICBENCH_BOTH T load(Order order = kSequential) const { return Do::load(at(), order); }
  FABRICBENCH_BOTH void store(T value, Order order = kSequential) const { Do::store(at(), value, order); }
  FABRICBENCH_BOTH operator T() const { return load(); }
  FABRICBENCH_BOTH T exchange(T value, Order order = kSequential) const { return Do::exchange(at(), value, order); }

  FABRICBENCH_BOTH bool compare_exchange_strong(T& expected, T desired, Order order = kSequential) const {
    return Do::compare_exchange(at(), expected, desired, order);
  }
  FABRICBENCH_BOTH bool compare_exchange_strong(T& expected, T desired, Order success, Order) const {
    return Do::compare_exchange(at(), expected, desired, success);
  }
  FABRICBENCH_BOTH bool compare_exchange_weak(T& expected, T desired, Order order = kSequential) const {
    return Do::compare_exchange(at(), expected, desired, order);
  }
  FABRICBENCH_BOTH bool compare_exchange_weak(T& expected, T desired, Order success, Order) const {
    return Do::compare_exchange(at(), expected, desired, success);
  }

  // Pointers move by whole elements.
  FABRICBENCH_BOTH T fetch_add(difference_type value, Order order = kSequential) const {
    if constexpr (std::is_pointer_v<T>) {
      const auto bytes = static_cast<unsigned long long>(value) * sizeof(std::remove_pointer_t<T>);
      return reinterpret_cast<T>(AtomicOperations<unsigned long long, kScope>::fetch_add(
          reinterpret_cast<unsigned long long*>(at()), bytes, order));
    } else {
      return Do::fetch_add(at(), value, order);
    }
  }
  FABRICBENCH_BOTH T fetch_sub(difference_type value, Order order = kSequential) const {
    if constexpr (std::is_pointer_v<T>) {
      return fetch_add(-value, order);
    } else {
      return Do::fetch_sub(at(), value, order);
    }
  }
  FABRICBENCH_BOTH T fetch_and(T value, Order order = kSequential) const { return Do::fetch_and(at(), value, order); }
  FABRICBENCH_BOTH T fetch_or(T value, Order order = kSequential) const { return Do::fetch_or(at(), value, order); }
  FABRICBENCH_BOTH T fetch_xor(T value, Order order = kSequential) const { return Do::fetch_xor(at(), value, order); }
  FABRICBENCH_BOTH T fetch_min(T value, Order order = kSequential) const { return Do::fetch_min(at(), value, order); }
  FABRICBENCH_BOTH T fetch_max(T value, Order order = kSequential) const { return Do::fetch_max(at(), value, order); }

  FABRICBENCH_BOTH T operator++() const { return fetch_add(1) + 1; }
  FABRICBENCH_BOTH T operator--() const { return fetch_sub(1) - 1; }
  FABRICBENCH_BOTH T operator++(int) const { return fetch_add(1); }
  FABRICBENCH_BOTH T operator--(int) const { return fetch_sub(1); }
  FABRICBENCH_BOTH T operator+=(difference_type value) const { return fetch_add(value) + value; }
  FABRICBENCH_BOTH T operator-=(difference_type value) const { return fetch_sub(value) - value; }
  FABRICBENCH_BOTH T operator&=(T value) const { return fetch_and(value) & value; }
  FABRICBENCH_BOTH T operator|=(T value) const { return fetch_or(value) | value; }
  FABRICBENCH_BOTH T operator^=(T value) const { return fetch_xor(value) ^ value; }

  // Waiting is polling, so there is no waiter to notify.
  FABRICBENCH_BOTH void wait(T old, Order order = kSequential) const {
    while (Do::to_bits(load(order)) == Do::to_bits(old)) continue;
  }
  FABRICBENCH_BOTH void notify_one() const {}
  FABRICBENCH_BOTH void notify_all() const {}

 private:
  FABRICBENCH_BOTH T* at() const { return static_cast<const Derived*>(this)->address(); }
};

}  // namespace fabricbench

namespace cuda {

template <class T, thread_scope Scope = thread_scope_system>
class atomic : public fabricbench::AtomicMembers<atomic<T, Scope>, T, Scope> {
 public:
  atomic() = default;
  FABRICBENCH_BOTH constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  FABRICBENCH_BOTH T operator=(T value) {
    this->store(value);
    return value;
  }

 private:
  friend fabricbench::AtomicMembers<atomic, T, Scope>;
  FABRICBENCH_BOTH T* address() const { return const_cast<T*>(&value_); }

  alignas(sizeof(T)) T value_;
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public fabricbench::AtomicMembers<atomic_ref<T, Scope>, T, Scope> {
 public:
  static constexpr ::std::size_t required_alignment = sizeof(T);

  FABRICBENCH_BOTH explicit atomic_ref(T& object) : object_(&object) {}
  atomic_ref(const atomic_ref&) = default;
  atomic_ref& operator=(const atomic_ref&) = delete;
  FABRICBENCH_BOTH T operator=(T value) const {
    this->store(value);
    return value;
  }

 private:
  friend fabricbench::AtomicMembers<atomic_ref, T, Scope>;
  FABRICBENCH_BOTH T* address() const { return object_; }

  T* object_;
};

FABRICBENCH_BOTH void atomic_thread_fence(memory_order order,
                                          [[maybe_unused]] thread_scope scope = thread_scope_system) {
  if (order == memory_order::relaxed) return;
#if defined(__CUDA_ARCH__)
#define FENCE(kScope)                                                                         \
  case kScope:                                                                                \
    if (order == memory_order::seq_cst) {                                                     \
      fabricbench::atomic_ptx::fence(fabricbench::atomic_ptx::Order<memory_order::seq_cst>{}, \
                                     fabricbench::atomic_ptx::Scope<kScope>{});               \
    } else {                                                                                  \
      fabricbench::atomic_ptx::fence(fabricbench::atomic_ptx::Order<memory_order::acq_rel>{}, \
                                     fabricbench::atomic_ptx::Scope<kScope>{});               \
    }                                                                                         \
    break;
  switch (scope) {
    FENCE(thread_scope_system)
    FENCE(thread_scope_device)
    FENCE(thread_scope_block)
    case thread_scope_thread:
      break;
  }
#undef FENCE
#else
  __atomic_thread_fence(static_cast<int>(order));
#endif
}

namespace std {

template <class T>
using atomic = ::cuda::atomic<T, thread_scope_system>;
template <class T>
using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
FABRICBENCH_BOTH void atomic_thread_fence(memory_order order) { ::cuda::atomic_thread_fence(order); }

}  // namespace std
}  // namespace cuda
