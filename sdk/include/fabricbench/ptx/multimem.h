// multimem: the memory of all devices behind a multicast address.
#pragma once
#include "fabricbench/ptx/tags.h"

namespace cuda {
namespace ptx {

#define LOAD(op, name, type, ptx, letter, parameters, modifiers)                         \
  FABRICBENCH_DEVICE type multimem_ld_reduce(parameters op_##op##_t, const type* from) { \
    type value;                                                                          \
    asm volatile("multimem.ld_reduce" modifiers ".global." name "." ptx " %0, [%1];"     \
                 : "=" letter(value)                                                     \
                 : "l"(__cvta_generic_to_global(from))                                   \
                 : "memory");                                                            \
    return value;                                                                        \
  }
#define REDUCE(op, name, type, ptx, letter, parameters, modifiers)                                                  \
  FABRICBENCH_DEVICE void multimem_red(parameters op_##op##_t, type* to, type value) {                              \
    asm volatile("multimem.red" modifiers ".global." name "." ptx " [%0], %1;" ::"l"(__cvta_generic_to_global(to)), \
                 letter(value)                                                                                      \
                 : "memory");                                                                                       \
  }
#define STORE(type, ptx, letter, parameters, modifiers)                                                   \
  FABRICBENCH_DEVICE void multimem_st(parameters type* to, type value) {                                  \
    asm volatile("multimem.st" modifiers ".global." ptx " [%0], %1;" ::"l"(__cvta_generic_to_global(to)), \
                 letter(value)                                                                            \
                 : "memory");                                                                             \
  }
// A comma within an argument.
#define AND ,
#define TAGS(sem, scope) sem_##sem##_t AND scope_##scope##_t AND
#define SCOPED(X, scope, first, second, ...)                \
  X(__VA_ARGS__, TAGS(first, scope), "." #first "." #scope) \
  X(__VA_ARGS__, TAGS(second, scope), "." #second "." #scope)
#define ALL_SCOPES(X, first, second, ...)        \
  SCOPED(X, cta, first, second, __VA_ARGS__)     \
  SCOPED(X, cluster, first, second, __VA_ARGS__) \
  SCOPED(X, gpu, first, second, __VA_ARGS__)     \
  SCOPED(X, sys, first, second, __VA_ARGS__)
#define OPERATION(...)                            \
  LOAD(__VA_ARGS__, sem_weak_t AND, ".weak")      \
  ALL_SCOPES(LOAD, relaxed, acquire, __VA_ARGS__) \
  ALL_SCOPES(REDUCE, relaxed, release, __VA_ARGS__)
#define INTEGERS(op, name)                  \
  OPERATION(op, name, uint32_t, "u32", "r") \
  OPERATION(op, name, int32_t, "s32", "r")  \
  OPERATION(op, name, uint64_t, "u64", "l")
#define BITS(op, name)                      \
  OPERATION(op, name, uint32_t, "b32", "r") \
  OPERATION(op, name, uint64_t, "b64", "l")
INTEGERS(min, "min")
INTEGERS(max, "max")
INTEGERS(add, "add")
OPERATION(min, "min", int64_t, "s64", "l")
OPERATION(max, "max", int64_t, "s64", "l")
BITS(and_op, "and")
BITS(or_op, "or")
BITS(xor_op, "xor")
#define STORES(type, ptx, letter)                   \
  STORE(type, ptx, letter, sem_weak_t AND, ".weak") \
  ALL_SCOPES(STORE, relaxed, release, type, ptx, letter)
STORES(uint32_t, "u32", "r")
STORES(int32_t, "s32", "r")
STORES(float, "f32", "f")
STORES(uint64_t, "u64", "l")
STORES(int64_t, "s64", "l")
STORES(double, "f64", "d")
#undef STORES
#undef BITS
#undef INTEGERS
#undef OPERATION
#undef ALL_SCOPES
#undef SCOPED
#undef TAGS
#undef AND
#undef STORE
#undef REDUCE
#undef LOAD

}  // namespace ptx
}  // namespace cuda
