// What reduce and scan combine values with.
#pragma once
#include "fabricbench/language.h"

namespace cooperative_groups {

// An operation without a type combines values of any type.
#define OPERATION(name, expression)                                                                \
  template <class T = void>                                                                        \
  struct name {                                                                                    \
    FABRICBENCH_DEVICE T operator()(const T& a, const T& b) const { return expression; }           \
  };                                                                                               \
  template <>                                                                                      \
  struct name<void> {                                                                              \
    template <class T>                                                                             \
    FABRICBENCH_DEVICE T operator()(const T& a, const T& b) const {                                \
      return expression;                                                                           \
    }                                                                                              \
  };
OPERATION(plus, a + b)
OPERATION(less, b < a ? b : a)
OPERATION(greater, a < b ? b : a)
OPERATION(bit_and, a& b)
OPERATION(bit_or, a | b)
OPERATION(bit_xor, a ^ b)
#undef OPERATION

}  // namespace cooperative_groups

namespace fabricbench {

// What a group's result does to the variable that update functions name: an atomic, or an object behind a pointer.
template <class Atomic, class T, class Op>
FABRICBENCH_DEVICE T update_atomic(Atomic& atomic, T value, Op op) {
  T old = atomic.load();
  while (!atomic.compare_exchange_weak(old, op(old, value))) continue;
  return old;
}

}  // namespace fabricbench
