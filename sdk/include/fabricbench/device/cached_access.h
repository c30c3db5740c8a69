// __ldg, and the loads and stores with a cache operator. All of them address global memory.
#pragma once
#include "fabricbench/device/address_spaces.h"
#include "vector_types.h"

// Accesses keep their place among others (volatile, "memory"), except __ldg: it promises that no thread writes the
// location while the kernel runs, so the compiler may move it. They are templates, so that a program's own function of
// such a name is preferred: some define those that clang's headers lack.
#define ALL_LOADS(LOAD, ...)                          \
  LOAD(__ldg, "nc", , , __VA_ARGS__)                  \
  LOAD(__ldca, "ca", volatile, "memory", __VA_ARGS__) \
  LOAD(__ldcg, "cg", volatile, "memory", __VA_ARGS__) \
  LOAD(__ldcs, "cs", volatile, "memory", __VA_ARGS__) \
  LOAD(__ldlu, "lu", volatile, "memory", __VA_ARGS__) \
  LOAD(__ldcv, "cv", volatile, "memory", __VA_ARGS__)
#define ALL_STORES(STORE, ...)     \
  STORE(__stwb, "wb", __VA_ARGS__) \
  STORE(__stcg, "cg", __VA_ARGS__) \
  STORE(__stcs, "cs", __VA_ARGS__) \
  STORE(__stwt, "wt", __VA_ARGS__)

#define LOAD1(name, op, order, clobber, type, ptx, letter, reg)                                                       \
  template <int = 0>                                                                                                  \
  FABRICBENCH_DEVICE type name(const type* from) {                                                                    \
    reg x;                                                                                                            \
    asm order("ld.global." op "." #ptx " %0, [%1];" : "=" letter(x) : "l"(__cvta_generic_to_global(from)) : clobber); \
    return static_cast<type>(x);                                                                                      \
  }
#define STORE1(name, op, type, ptx, letter, reg)                                            \
  template <int = 0>                                                                        \
  FABRICBENCH_DEVICE void name(type* to, type value) {                                      \
    asm volatile("st.global." op "." #ptx " [%0], %1;" ::"l"(__cvta_generic_to_global(to)), \
                 letter(static_cast<reg>(value))                                            \
                 : "memory");                                                               \
  }
#define CACHED1(...) ALL_LOADS(LOAD1, __VA_ARGS__) ALL_STORES(STORE1, __VA_ARGS__)

#define LOAD2(name, op, order, clobber, type, ptx, letter, reg)                    \
  template <int = 0>                                                               \
  FABRICBENCH_DEVICE type name(const type* from) {                                 \
    reg x, y;                                                                      \
    asm order("ld.global." op ".v2." #ptx " {%0, %1}, [%2];"                       \
              : "=" letter(x), "=" letter(y)                                       \
              : "l"(__cvta_generic_to_global(from))                                \
              : clobber);                                                          \
    return {static_cast<decltype(type::x)>(x), static_cast<decltype(type::x)>(y)}; \
  }
#define STORE2(name, op, type, ptx, letter, reg)                                                     \
  template <int = 0>                                                                                 \
  FABRICBENCH_DEVICE void name(type* to, type v) {                                                   \
    asm volatile("st.global." op ".v2." #ptx " [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), \
                 letter(static_cast<reg>(v.x)), letter(static_cast<reg>(v.y))                        \
                 : "memory");                                                                        \
  }
#define CACHED2(...) ALL_LOADS(LOAD2, __VA_ARGS__) ALL_STORES(STORE2, __VA_ARGS__)

#define LOAD4(name, op, order, clobber, type, ptx, letter, reg)                                                      \
  template <int = 0>                                                                                                 \
  FABRICBENCH_DEVICE type name(const type* from) {                                                                   \
    reg x, y, z, w;                                                                                                  \
    asm order("ld.global." op ".v4." #ptx " {%0, %1, %2, %3}, [%4];"                                                 \
              : "=" letter(x), "=" letter(y), "=" letter(z), "=" letter(w)                                           \
              : "l"(__cvta_generic_to_global(from))                                                                  \
              : clobber);                                                                                            \
    return {static_cast<decltype(type::x)>(x), static_cast<decltype(type::x)>(y), static_cast<decltype(type::x)>(z), \
            static_cast<decltype(type::x)>(w)};                                                                      \
  }
#define STORE4(name, op, type, ptx, letter, reg)                                                              \
  template <int = 0>                                                                                          \
  FABRICBENCH_DEVICE void name(type* to, type v) {                                                            \
    asm volatile("st.global." op ".v4." #ptx " [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),  \
                 letter(static_cast<reg>(v.x)), letter(static_cast<reg>(v.y)), letter(static_cast<reg>(v.z)), \
                 letter(static_cast<reg>(v.w))                                                                \
                 : "memory");                                                                                 \
  }
#define CACHED4(...) ALL_LOADS(LOAD4, __VA_ARGS__) ALL_STORES(STORE4, __VA_ARGS__)

#include "fabricbench/device/cached_access.def"

#undef CACHED4
#undef STORE4
#undef LOAD4
#undef CACHED2
#undef STORE2
#undef LOAD2
#undef CACHED1
#undef STORE1
#undef LOAD1
#undef ALL_STORES
#undef ALL_LOADS

// A property of caches that libcu++'s annotated_ptr attaches to accesses; it changes no value.
FABRICBENCH_DEVICE void* __nv_associate_access_property(const void* pointer, unsigned long long) {
  return const_cast<void*>(pointer);
}
