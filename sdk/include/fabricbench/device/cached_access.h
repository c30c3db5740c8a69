// __ldg, and the loads and stores with a cache operator. All of them address global memory.
#pragma once
#include "fabricbench/device/address_spaces.h"
#include "vector_types.h"

// Accesses keep their place among others (volatile, "memory"), except __ldg: it promises that no thread writes the
// location while the kernel runs, so the compiler may move it, though never in front of a test that guards it, which
// assembly without volatile may be. They are templates, so that a program's own function of such a name is preferred:
// some define those that clang's headers lack.
#define ALL_LOADS(LOAD, LDG, ...) \
  LDG(__VA_ARGS__)                \
  LOAD(__ldca, "ca", __VA_ARGS__) \
  LOAD(__ldcg, "cg", __VA_ARGS__) \
  LOAD(__ldcs, "cs", __VA_ARGS__) \
  LOAD(__ldlu, "lu", __VA_ARGS__) \
  LOAD(__ldcv, "cv", __VA_ARGS__)
#define ALL_STORES(STORE, ...)     \
  STORE(__stwb, "wb", __VA_ARGS__) \
  STORE(__stcg, "cg", __VA_ARGS__) \
  STORE(__stcs, "cs", __VA_ARGS__) \
  STORE(__stwt, "wt", __VA_ARGS__)

#define LOAD1(name, op, type, ptx, letter, reg, suffix) \
  template <int = 0>                                    \
  FABRICBENCH_DEVICE type name(const type* from) {      \
    reg x;                                              \
    asm volatile("ld.global." op "." #ptx " %0, [%1];"  \
                 : "=" letter(x)                        \
                 : "l"(__cvta_generic_to_global(from))  \
                 : "memory");                           \
    return static_cast<type>(x);                        \
  }
#define LDG1(type, ptx, letter, reg, suffix)        \
  template <int = 0>                                \
  FABRICBENCH_DEVICE type __ldg(const type* from) { \
    return __nvvm_ldg_##suffix(from);               \
  }
#define STORE1(name, op, type, ptx, letter, reg, suffix)                                    \
  template <int = 0>                                                                        \
  FABRICBENCH_DEVICE void name(type* to, type value) {                                      \
    asm volatile("st.global." op "." #ptx " [%0], %1;" ::"l"(__cvta_generic_to_global(to)), \
                 letter(static_cast<reg>(value))                                            \
                 : "memory");                                                               \
  }
#define CACHED1(...) ALL_LOADS(LOAD1, LDG1, __VA_ARGS__) ALL_STORES(STORE1, __VA_ARGS__)

#define LOAD2(name, op, type, ptx, letter, reg, suffix)                            \
  template <int = 0>                                                               \
  FABRICBENCH_DEVICE type name(const type* from) {                                 \
    reg x, y;                                                                      \
    asm volatile("ld.global." op ".v2." #ptx " {%0, %1}, [%2];"                    \
                 : "=" letter(x), "=" letter(y)                                    \
                 : "l"(__cvta_generic_to_global(from))                             \
                 : "memory");                                                      \
    return {static_cast<decltype(type::x)>(x), static_cast<decltype(type::x)>(y)}; \
  }
#define LDG2(type, ptx, letter, reg, suffix)                                 \
  template <int = 0>                                                         \
  FABRICBENCH_DEVICE type __ldg(const type* from) {                          \
    typedef decltype(type::x) Both __attribute__((ext_vector_type(2)));      \
    const Both v = __nvvm_ldg_##suffix(reinterpret_cast<const Both*>(from)); \
    return {v.x, v.y};                                                       \
  }
#define STORE2(name, op, type, ptx, letter, reg, suffix)                                             \
  template <int = 0>                                                                                 \
  FABRICBENCH_DEVICE void name(type* to, type v) {                                                   \
    asm volatile("st.global." op ".v2." #ptx " [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), \
                 letter(static_cast<reg>(v.x)), letter(static_cast<reg>(v.y))                        \
                 : "memory");                                                                        \
  }
#define CACHED2(...) ALL_LOADS(LOAD2, LDG2, __VA_ARGS__) ALL_STORES(STORE2, __VA_ARGS__)

#define LOAD4(name, op, type, ptx, letter, reg, suffix)                                                              \
  template <int = 0>                                                                                                 \
  FABRICBENCH_DEVICE type name(const type* from) {                                                                   \
    reg x, y, z, w;                                                                                                  \
    asm volatile("ld.global." op ".v4." #ptx " {%0, %1, %2, %3}, [%4];"                                              \
                 : "=" letter(x), "=" letter(y), "=" letter(z), "=" letter(w)                                        \
                 : "l"(__cvta_generic_to_global(from))                                                               \
                 : "memory");                                                                                        \
    return {static_cast<decltype(type::x)>(x), static_cast<decltype(type::x)>(y), static_cast<decltype(type::x)>(z), \
            static_cast<decltype(type::x)>(w)};                                                                      \
  }
#define LDG4(type, ptx, letter, reg, suffix)                               \
  template <int = 0>                                                       \
  FABRICBENCH_DEVICE type __ldg(const type* from) {                        \
    typedef decltype(type::x) All __attribute__((ext_vector_type(4)));     \
    const All v = __nvvm_ldg_##suffix(reinterpret_cast<const All*>(from)); \
    return {v.x, v.y, v.z, v.w};                                           \
  }
#define STORE4(name, op, type, ptx, letter, reg, suffix)                                                      \
  template <int = 0>                                                                                          \
  FABRICBENCH_DEVICE void name(type* to, type v) {                                                            \
    asm volatile("st.global." op ".v4." #ptx " [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),  \
                 letter(static_cast<reg>(v.x)), letter(static_cast<reg>(v.y)), letter(static_cast<reg>(v.z)), \
                 letter(static_cast<reg>(v.w))                                                                \
                 : "memory");                                                                                 \
  }
#define CACHED4(...) ALL_LOADS(LOAD4, LDG4, __VA_ARGS__) ALL_STORES(STORE4, __VA_ARGS__)

#include "fabricbench/device/cached_access.def"

#undef CACHED4
#undef STORE4
#undef LDG4
#undef LOAD4
#undef CACHED2
#undef STORE2
#undef LDG2
#undef LOAD2
#undef CACHED1
#undef STORE1
#undef LDG1
#undef LOAD1
#undef ALL_STORES
#undef ALL_LOADS

// A property of caches that libcu++'s annotated_ptr attaches to accesses; it changes no value.
FABRICBENCH_DEVICE void* __nv_associate_access_property(const void* pointer, unsigned long long) {
  return const_cast<void*>(pointer);
}
