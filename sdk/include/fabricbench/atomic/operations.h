// Atomic operations on one object of any type of 1, 2, 4 or 8 bytes, at a scope: on the device by the instructions of
// instructions.h, on the host by clang's __atomic built-ins (where every scope is the system).
//
// Sequential consistency on the device is a fence.sc before an acquiring load or read-modify-write, or before a relaxed
// store. What PTX has no instruction for is a loop around compare-and-swap, of the surrounding word where it is small.
#pragma once
#include <type_traits>

#include "fabricbench/atomic/instructions.h"

namespace fabricbench {

template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = unsigned char;
};
template <>
struct BitsOf<2> {
  using type = unsigned short;
};
template <>
struct BitsOf<4> {
  using type = unsigned int;
};
template <>
struct BitsOf<8> {
  using type = unsigned long long;
};

template <class T, ThreadScope kScope>
struct AtomicOperations {
  static_assert(std::is_trivially_copyable_v<T>, "an atomic object is copied as bits");
  using Bits = typename BitsOf<sizeof(T)>::type;
  using Order = MemoryOrder;
  using Scope = atomic_ptx::Scope<kScope>;
  template <Order kOrder>
  using At = atomic_ptx::Order<kOrder>;

  static FABRICBENCH_BOTH Bits to_bits(T value) { return __builtin_bit_cast(Bits, value); }
  static FABRICBENCH_BOTH T from_bits(Bits bits) { return __builtin_bit_cast(T, bits); }

  static FABRICBENCH_BOTH T load(const T* at, Order order) {
    const auto* bits = reinterpret_cast<const Bits*>(at);
    FABRICBENCH_SIDE(
        if (order == Order::relaxed) return from_bits(atomic_ptx::load(At<Order::relaxed>{}, Scope{}, bits));
        if (order == Order::seq_cst) atomic_ptx::fence(At<Order::seq_cst>{}, Scope{});
        return from_bits(atomic_ptx::load(At<Order::acquire>{}, Scope{}, bits)),
               return from_bits(__atomic_load_n(bits, static_cast<int>(order))));
  }

  static FABRICBENCH_BOTH void store(T* at, T value, Order order) {
    auto* bits = reinterpret_cast<Bits*>(at);
    FABRICBENCH_SIDE(
        if (order == Order::release) return atomic_ptx::store(At<Order::release>{}, Scope{}, bits, to_bits(value));
        if (order == Order::seq_cst) atomic_ptx::fence(At<Order::seq_cst>{}, Scope{});
        atomic_ptx::store(At<Order::relaxed>{}, Scope{}, bits, to_bits(value)),
        __atomic_store_n(bits, to_bits(value), static_cast<int>(order)));
  }

  // Writes desired where the object holds expected; otherwise expected becomes what it holds.
  static FABRICBENCH_BOTH bool compare_exchange(T* at, T& expected, T desired, Order order) {
    auto* bits = reinterpret_cast<Bits*>(at);
    auto old = to_bits(expected);
    const bool success =
        FABRICBENCH_SIDE(swap_bits(bits, old, to_bits(desired), order),
                         __atomic_compare_exchange_n(bits, &old, to_bits(desired), false, static_cast<int>(order),
                                                     static_cast<int>(failure_order(order))));
    if (!success) expected = from_bits(old);
    return success;
  }

  // Replaces x by f(x); returns x.
  template <class F>
  static FABRICBENCH_BOTH T modify(T* at, Order order, F f) {
    T old = load(at, Order::relaxed);
    while (!compare_exchange(at, old, f(old), order)) continue;
    return old;
  }

  static FABRICBENCH_BOTH T exchange(T* at, T value, Order order) {
    auto* bits = reinterpret_cast<Bits*>(at);
    FABRICBENCH_SIDE(
        if constexpr (sizeof(T) >= 4) {
          return from_bits(in_order(order, [=](auto o) FABRICBENCH_UNSEEN {
            return atomic_ptx::exchange(o, Scope{}, bits, to_bits(value));
          }));
        } else { return modify(at, order, [=](T) FABRICBENCH_UNSEEN { return value; }); },
        return from_bits(__atomic_exchange_n(bits, to_bits(value), static_cast<int>(order))));
  }

// `native` says for which types there is an instruction, and `Operand` as what type it takes them.
#define FETCH(name, native, Operand, expression)                                                                    \
  static FABRICBENCH_BOTH T name(T* at, T value, Order order) {                                                     \
    FABRICBENCH_SIDE(                                                                                               \
        if constexpr (native) {                                                                                     \
          auto* as_operand = reinterpret_cast<Operand*>(at);                                                        \
          const auto operand = __builtin_bit_cast(Operand, value);                                                  \
          const Operand old = in_order(                                                                             \
              order, [=](auto o) FABRICBENCH_UNSEEN { return atomic_ptx::name(o, Scope{}, as_operand, operand); }); \
          return __builtin_bit_cast(T, old);                                                                        \
        }, );                                                                                                       \
    return modify(at, order, [=](T x) FABRICBENCH_UNSEEN { return static_cast<T>(expression); });                   \
  }
  static constexpr bool kWord = std::is_integral_v<T> && sizeof(T) >= 4;
  using Number = std::conditional_t<std::is_floating_point_v<T>, T, Bits>;
  using Ordered = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<Bits>, Bits>;
  FETCH(fetch_add, kWord || std::is_floating_point_v<T>, Number, x + value)
  FETCH(fetch_and, kWord, Bits, x& value)
  FETCH(fetch_or, kWord, Bits, x | value)
  FETCH(fetch_xor, kWord, Bits, x ^ value)
  FETCH(fetch_min, kWord, Ordered, value < x ? value : x)
  FETCH(fetch_max, kWord, Ordered, x < value ? value : x)
#undef FETCH
  static FABRICBENCH_BOTH T fetch_sub(T* at, T value, Order order) {
    return fetch_add(at, static_cast<T>(T{} - value), order);
  }

 private:
  // A failed exchange has only read.
  static FABRICBENCH_BOTH Order failure_order(Order order) {
    return order == Order::acq_rel ? Order::acquire : order == Order::release ? Order::relaxed : order;
  }

#if defined(__CUDA__)
  // f with the order as a type.
  template <class F>
  static FABRICBENCH_DEVICE auto in_order(Order order, F f) {
    if (order == Order::relaxed) return f(At<Order::relaxed>{});
    if (order == Order::release) return f(At<Order::release>{});
    if (order == Order::acq_rel) return f(At<Order::acq_rel>{});
    if (order == Order::seq_cst) atomic_ptx::fence(At<Order::seq_cst>{}, Scope{});
    return f(At<Order::acquire>{});
  }

  static FABRICBENCH_DEVICE bool swap_bits(Bits* at, Bits& expected, Bits desired, Order order) {
    if constexpr (sizeof(T) >= 4) {
      const Bits old = in_order(order, [=](auto o) FABRICBENCH_UNSEEN {
        return atomic_ptx::compare_and_swap(o, Scope{}, at, expected, desired);
      });
      const bool success = old == expected;
      expected = old;
      return success;
    } else {
      // Our bytes within the aligned word around them.
      const auto address = reinterpret_cast<unsigned long long>(at);
      auto* word = reinterpret_cast<unsigned int*>(address & ~3ull);
      const unsigned int shift = (address & 3) * 8;
      const unsigned int mask = static_cast<unsigned int>(static_cast<Bits>(~0u)) << shift;
      unsigned int old = AtomicOperations<unsigned int, kScope>::load(word, Order::relaxed);
      while (static_cast<Bits>(old >> shift) == expected) {
        const unsigned int replaced = (old & ~mask) | static_cast<unsigned int>(desired) << shift;
        if (AtomicOperations<unsigned int, kScope>::compare_exchange(word, old, replaced, order)) return true;
      }
      expected = static_cast<Bits>(old >> shift);
      return false;
    }
  }
#endif
};

}  // namespace fabricbench
