// Loads, stores and read-modify-writes with an order and a scope, by the bits of their operand: one PTX instruction
// each. How sequential consistency is made of them stands in operations.h.
#pragma once
#include "fabricbench/atomic/order_and_scope.h"

namespace fabricbench::atomic_ptx {

template <ThreadScope kScope>
struct Scope {};
template <MemoryOrder kOrder>
struct Order {};

#if defined(__CUDA__)  // a host compiler sees the host's side of operations.h only

// Expands X(order, ".order", scope, ".scope", …) for all scopes. A thread's own scope is within its block's.
#define EACH_SCOPE(X, order, ptx_order, ...)                    \
  X(order, ptx_order, thread_scope_system, ".sys", __VA_ARGS__) \
  X(order, ptx_order, thread_scope_device, ".gpu", __VA_ARGS__) \
  X(order, ptx_order, thread_scope_block, ".cta", __VA_ARGS__)  \
  X(order, ptx_order, thread_scope_thread, ".cta", __VA_ARGS__)
#define PARAMETERS(order, scope) Order<MemoryOrder::order>, Scope<::fabricbench::scope>

#define LOAD(order, ptx_order, scope, ptx_scope, type, ptx_type, letter, reg)                                \
  FABRICBENCH_DEVICE type load(PARAMETERS(order, scope), const type* from) {                                 \
    reg value;                                                                                               \
    asm volatile("ld" ptx_order ptx_scope ptx_type " %0, [%1];" : "=" letter(value) : "l"(from) : "memory"); \
    return static_cast<type>(value);                                                                         \
  }
#define STORE(order, ptx_order, scope, ptx_scope, type, ptx_type, letter, reg)                             \
  FABRICBENCH_DEVICE void store(PARAMETERS(order, scope), type* to, type value) {                          \
    asm volatile("st" ptx_order ptx_scope ptx_type " [%0], %1;" ::"l"(to), letter(static_cast<reg>(value)) \
                 : "memory");                                                                              \
  }
#define ACCESS(...)                                   \
  EACH_SCOPE(LOAD, relaxed, ".relaxed", __VA_ARGS__)  \
  EACH_SCOPE(LOAD, acquire, ".acquire", __VA_ARGS__)  \
  EACH_SCOPE(STORE, relaxed, ".relaxed", __VA_ARGS__) \
  EACH_SCOPE(STORE, release, ".release", __VA_ARGS__)
ACCESS(unsigned char, ".b8", "h", unsigned short)
ACCESS(unsigned short, ".b16", "h", unsigned short)
ACCESS(unsigned int, ".b32", "r", unsigned int)
ACCESS(unsigned long long, ".b64", "l", unsigned long long)
#undef ACCESS
#undef STORE
#undef LOAD

#define EACH_RMW_ORDER(X, ...)                    \
  EACH_SCOPE(X, relaxed, ".relaxed", __VA_ARGS__) \
  EACH_SCOPE(X, acquire, ".acquire", __VA_ARGS__) \
  EACH_SCOPE(X, release, ".release", __VA_ARGS__) \
  EACH_SCOPE(X, acq_rel, ".acq_rel", __VA_ARGS__)
#define MODIFY(order, ptx_order, scope, ptx_scope, name, ptx_op, type, ptx_type, letter) \
  FABRICBENCH_DEVICE type name(PARAMETERS(order, scope), type* at, type value) {         \
    type old;                                                                            \
    asm volatile("atom" ptx_op ptx_order ptx_scope ptx_type " %0, [%1], %2;"             \
                 : "=" letter(old)                                                       \
                 : "l"(at), letter(value)                                                \
                 : "memory");                                                            \
    return old;                                                                          \
  }
#define COMPARE(order, ptx_order, scope, ptx_scope, type, ptx_type, letter)                                   \
  FABRICBENCH_DEVICE type compare_and_swap(PARAMETERS(order, scope), type* at, type expected, type desired) { \
    type old;                                                                                                 \
    asm volatile("atom.cas" ptx_order ptx_scope ptx_type " %0, [%1], %2, %3;"                                 \
                 : "=" letter(old)                                                                            \
                 : "l"(at), letter(expected), letter(desired)                                                 \
                 : "memory");                                                                                 \
    return old;                                                                                               \
  }
#define BITWISE(type, ptx_type, letter)                             \
  EACH_RMW_ORDER(MODIFY, exchange, ".exch", type, ptx_type, letter) \
  EACH_RMW_ORDER(MODIFY, fetch_and, ".and", type, ptx_type, letter) \
  EACH_RMW_ORDER(MODIFY, fetch_or, ".or", type, ptx_type, letter)   \
  EACH_RMW_ORDER(MODIFY, fetch_xor, ".xor", type, ptx_type, letter) \
  EACH_RMW_ORDER(COMPARE, type, ptx_type, letter)
#define MIN_MAX(type, ptx_type, letter)                             \
  EACH_RMW_ORDER(MODIFY, fetch_min, ".min", type, ptx_type, letter) \
  EACH_RMW_ORDER(MODIFY, fetch_max, ".max", type, ptx_type, letter)
#define ADD(type, ptx_type, letter) EACH_RMW_ORDER(MODIFY, fetch_add, ".add", type, ptx_type, letter)
BITWISE(unsigned int, ".b32", "r")
BITWISE(unsigned long long, ".b64", "l")
MIN_MAX(unsigned int, ".u32", "r")
MIN_MAX(int, ".s32", "r")
MIN_MAX(unsigned long long, ".u64", "l")
MIN_MAX(long long, ".s64", "l")
ADD(unsigned int, ".u32", "r")
ADD(unsigned long long, ".u64", "l")
ADD(float, ".f32", "f")
ADD(double, ".f64", "d")
#undef ADD
#undef MIN_MAX
#undef BITWISE
#undef COMPARE
#undef MODIFY
#undef EACH_RMW_ORDER

#define FENCE(order, ptx_order, scope, ptx_scope, ...)          \
  FABRICBENCH_DEVICE void fence(PARAMETERS(order, scope)) {     \
    asm volatile("fence" ptx_order ptx_scope ";" ::: "memory"); \
  }
EACH_SCOPE(FENCE, acq_rel, ".acq_rel", )
EACH_SCOPE(FENCE, seq_cst, ".sc", )
#undef FENCE
#undef PARAMETERS
#undef EACH_SCOPE

#endif

}  // namespace fabricbench::atomic_ptx
