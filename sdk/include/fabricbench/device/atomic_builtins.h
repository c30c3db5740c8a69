// __nv_atomic_load … __nv_atomic_thread_fence: nvcc's built-in atomic functions. Order and scope are constants, so that
// each call becomes the one instruction that nvcc makes of it; sequential consistency is a fence in front of that.
#pragma once
#include "vector_types.h"

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

// ACTION(".order", ".scope", …) for the value of the variable `scope`, or of `order` and `scope`.
#define EACH_SCOPE(ACTION, ptx_order, ...)         \
  if (scope == __NV_THREAD_SCOPE_SYSTEM) {         \
    ACTION(ptx_order, ".sys", __VA_ARGS__);        \
  } else if (scope == __NV_THREAD_SCOPE_DEVICE) {  \
    ACTION(ptx_order, ".gpu", __VA_ARGS__);        \
  } else if (scope == __NV_THREAD_SCOPE_CLUSTER) { \
    ACTION(ptx_order, ".cluster", __VA_ARGS__);    \
  } else {                                         \
    ACTION(ptx_order, ".cta", __VA_ARGS__);        \
  }
#define EACH_ORDER(ACTION, ...)                                                    \
  if (order == __NV_ATOMIC_RELAXED) {                                              \
    EACH_SCOPE(ACTION, ".relaxed", __VA_ARGS__)                                    \
  } else if (order == __NV_ATOMIC_RELEASE) {                                       \
    EACH_SCOPE(ACTION, ".release", __VA_ARGS__)                                    \
  } else if (order == __NV_ATOMIC_ACQ_REL) {                                       \
    EACH_SCOPE(ACTION, ".acq_rel", __VA_ARGS__)                                    \
  } else {                                                                         \
    EACH_SCOPE(ACTION, ".acquire", __VA_ARGS__)                                    \
  }

FABRICBENCH_DEVICE void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
#define FENCE(ptx_order, ptx_scope, unused) asm volatile("fence" ptx_order ptx_scope ";" ::: "memory")
  if (order == __NV_ATOMIC_SEQ_CST) {
    EACH_SCOPE(FENCE, ".sc", )
  } else if (order != __NV_ATOMIC_RELAXED) {
    EACH_SCOPE(FENCE, ".acq_rel", )
  }
#undef FENCE
}
FABRICBENCH_DEVICE void __nv_atomic_signal_fence(int) { asm volatile("" ::: "memory"); }

namespace fabricbench {
namespace nv_atomic {

FABRICBENCH_DEVICE void fence_if_sequential(int order, int scope) {
  if (order == __NV_ATOMIC_SEQ_CST) __nv_atomic_thread_fence(order, scope);
}

// Accesses by the bits of their operand.
#define LOAD(ptx_order, ptx_scope, bits, letter) \
  asm volatile("ld" ptx_order ptx_scope ".b" bits " %0, [%1];" : "=" letter(value) : "l"(at) : "memory")
#define STORE(ptx_order, ptx_scope, bits, letter) \
  asm volatile("st" ptx_order ptx_scope ".b" bits " [%0], %1;" ::"l"(at), letter(value) : "memory")
#define EXCHANGE(ptx_order, ptx_scope, bits, letter) \
  asm volatile("atom.exch" ptx_order ptx_scope ".b" bits " %0, [%1], %2;" : "=" letter(old) : "l"(at), letter(value) : "memory")
#define COMPARE(ptx_order, ptx_scope, bits, letter)                           \
  asm volatile("atom.cas" ptx_order ptx_scope ".b" bits " %0, [%1], %2, %3;"  \
               : "=" letter(old)                                              \
               : "l"(at), letter(expected), letter(value)                     \
               : "memory")
#define LOAD_AND_STORE(type, bits, letter)                                                \
  FABRICBENCH_DEVICE void load(const void* at, type& value, int order, int scope) {       \
    fence_if_sequential(order, scope);                                                    \
    if (order == __NV_ATOMIC_RELAXED) {                                                   \
      EACH_SCOPE(LOAD, ".relaxed", bits, letter)                                          \
    } else {                                                                              \
      EACH_SCOPE(LOAD, ".acquire", bits, letter)                                          \
    }                                                                                     \
  }                                                                                       \
  FABRICBENCH_DEVICE void store(void* at, type value, int order, int scope) {             \
    fence_if_sequential(order, scope);                                                    \
    if (order == __NV_ATOMIC_RELEASE) {                                                   \
      EACH_SCOPE(STORE, ".release", bits, letter)                                         \
    } else {                                                                              \
      EACH_SCOPE(STORE, ".relaxed", bits, letter)                                         \
    }                                                                                     \
  }
#define EXCHANGES(type, bits, letter)                                                               \
  FABRICBENCH_DEVICE type exchange(void* at, type value, int order, int scope) {                    \
    type old;                                                                                       \
    fence_if_sequential(order, scope);                                                              \
    EACH_ORDER(EXCHANGE, bits, letter)                                                              \
    return old;                                                                                     \
  }                                                                                                 \
  FABRICBENCH_DEVICE type compare_exchange(void* at, type expected, type value, int order, int scope) { \
    type old;                                                                                       \
    fence_if_sequential(order, scope);                                                              \
    EACH_ORDER(COMPARE, bits, letter)                                                               \
    return old;                                                                                     \
  }
LOAD_AND_STORE(unsigned short, "16", "h")
LOAD_AND_STORE(unsigned int, "32", "r")
LOAD_AND_STORE(unsigned long long, "64", "l")
EXCHANGES(unsigned int, "32", "r")
EXCHANGES(unsigned long long, "64", "l")
#undef EXCHANGES
#undef LOAD_AND_STORE
#undef COMPARE
#undef EXCHANGE
#undef STORE
#undef LOAD

template <int kBytes>
struct BitsOf;
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
template <class T>
using Bits = typename BitsOf<sizeof(T)>::type;
template <class T>
struct Same {
  using type = T;
};
template <class T>
using Value = typename Same<T>::type;  // not deduced: converted to the type of the object

#define MODIFY(ptx_order, ptx_scope, op, ptx_type, letter)                \
  asm volatile("atom." op ptx_order ptx_scope "." ptx_type " %0, [%1], %2;" \
               : "=" letter(old)                                          \
               : "l"(at), letter(value)                                   \
               : "memory")
#define MODIFICATION(name, op, type, ptx_type, letter)                        \
  FABRICBENCH_DEVICE type name(type* at, type value, int order, int scope) {  \
    type old;                                                                 \
    fence_if_sequential(order, scope);                                        \
    EACH_ORDER(MODIFY, op, ptx_type, letter)                                  \
    return old;                                                               \
  }
#define INTEGERS(name, op)                                     \
  MODIFICATION(name, op, int, "s32", "r")                      \
  MODIFICATION(name, op, unsigned int, "u32", "r")             \
  MODIFICATION(name, op, long long, "s64", "l")                \
  MODIFICATION(name, op, unsigned long long, "u64", "l")       \
  MODIFICATION(name, op, long, "s64", "l")                     \
  MODIFICATION(name, op, unsigned long, "u64", "l")
#define BITWISE(name, op)                                      \
  MODIFICATION(name, op, int, "b32", "r")                      \
  MODIFICATION(name, op, unsigned int, "b32", "r")             \
  MODIFICATION(name, op, long long, "b64", "l")                \
  MODIFICATION(name, op, unsigned long long, "b64", "l")       \
  MODIFICATION(name, op, long, "b64", "l")                     \
  MODIFICATION(name, op, unsigned long, "b64", "l")
INTEGERS(min, "min")
INTEGERS(max, "max")
BITWISE(bit_and, "and")
BITWISE(bit_or, "or")
BITWISE(bit_xor, "xor")
// The sum of 64-bit integers has an unsigned form alone.
MODIFICATION(add, "add", int, "s32", "r")
MODIFICATION(add, "add", unsigned int, "u32", "r")
MODIFICATION(add, "add", long long, "u64", "l")
MODIFICATION(add, "add", unsigned long long, "u64", "l")
MODIFICATION(add, "add", long, "u64", "l")
MODIFICATION(add, "add", unsigned long, "u64", "l")
MODIFICATION(add, "add", float, "f32", "f")
MODIFICATION(add, "add", double, "f64", "d")
#undef BITWISE
#undef INTEGERS
#undef MODIFICATION
#undef MODIFY

}  // namespace nv_atomic
}  // namespace fabricbench

template <class T>
FABRICBENCH_DEVICE T __nv_atomic_load_n(const T* at, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  fabricbench::nv_atomic::Bits<T> bits;
  fabricbench::nv_atomic::load(at, bits, order, scope);
  return __builtin_bit_cast(T, bits);
}
template <class T>
FABRICBENCH_DEVICE void __nv_atomic_load(const T* at, T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *value = __nv_atomic_load_n(at, order, scope);
}
template <class T>
FABRICBENCH_DEVICE void __nv_atomic_store_n(T* at, fabricbench::nv_atomic::Value<T> value, int order,
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {
  fabricbench::nv_atomic::store(at, __builtin_bit_cast(fabricbench::nv_atomic::Bits<T>, value), order, scope);
}
template <class T>
FABRICBENCH_DEVICE void __nv_atomic_store(T* at, const T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(at, *value, order, scope);
}
template <class T>
FABRICBENCH_DEVICE T __nv_atomic_exchange_n(T* at, fabricbench::nv_atomic::Value<T> value, int order,
                                            int scope = __NV_THREAD_SCOPE_SYSTEM) {
  using Bits = fabricbench::nv_atomic::Bits<T>;
  return __builtin_bit_cast(T, fabricbench::nv_atomic::exchange(at, __builtin_bit_cast(Bits, value), order, scope));
}
template <class T>
FABRICBENCH_DEVICE void __nv_atomic_exchange(T* at, const T* value, T* old, int order,
                                             int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *old = __nv_atomic_exchange_n(at, *value, order, scope);
}
template <class T>
FABRICBENCH_DEVICE bool __nv_atomic_compare_exchange_n(T* at, T* expected, fabricbench::nv_atomic::Value<T> value,
                                                       bool, int order, int, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  using Bits = fabricbench::nv_atomic::Bits<T>;
  const auto wanted = __builtin_bit_cast(Bits, *expected);
  const auto old = fabricbench::nv_atomic::compare_exchange(at, wanted, __builtin_bit_cast(Bits, value), order, scope);
  if (old != wanted) *expected = __builtin_bit_cast(T, old);
  return old == wanted;
}
template <class T>
FABRICBENCH_DEVICE bool __nv_atomic_compare_exchange(T* at, T* expected, const T* value, bool weak, int order,
                                                     int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(at, expected, *value, weak, order, failure, scope);
}

// With the old value, and without.
#define FETCH(name, operation, operand)                                                                               \
  template <class T>                                                                                                  \
  FABRICBENCH_DEVICE T __nv_atomic_fetch_##name(T* at, fabricbench::nv_atomic::Value<T> value, int order,             \
                                                int scope = __NV_THREAD_SCOPE_SYSTEM) {                               \
    return fabricbench::nv_atomic::operation(at, operand, order, scope);                                              \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  FABRICBENCH_DEVICE void __nv_atomic_##name(T* at, fabricbench::nv_atomic::Value<T> value, int order,                \
                                             int scope = __NV_THREAD_SCOPE_SYSTEM) {                                  \
    fabricbench::nv_atomic::operation(at, operand, order, scope);                                                     \
  }
FETCH(add, add, value)
FETCH(sub, add, static_cast<T>(0) - value)
FETCH(and, bit_and, value)
FETCH(or, bit_or, value)
FETCH(xor, bit_xor, value)
FETCH(min, min, value)
FETCH(max, max, value)
#undef FETCH
#undef EACH_ORDER
#undef EACH_SCOPE
