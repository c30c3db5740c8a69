// atomicAdd … atomicCAS: relaxed read-modify-writes at device scope; with _block and _system suffix at those scopes.
// The narrow float ones live with their types.
#pragma once
#include "fabricbench/device/address_spaces.h"
#include "vector_types.h"

// One operation at its three scopes. `bits` is the type clang's built-in takes; values keep their bits.
#define ATOMIC_AT(suffix, name, builtin, type, bits)                                               \
  FABRICBENCH_DEVICE type name##suffix(type* address, type value) {                                \
    return static_cast<type>(builtin(reinterpret_cast<bits*>(address), static_cast<bits>(value))); \
  }
#define ATOMIC(name, op, letters, type, bits)                               \
  ATOMIC_AT(, name, __nvvm_atom_##op##_gen_##letters, type, bits)           \
  ATOMIC_AT(_block, name, __nvvm_atom_cta_##op##_gen_##letters, type, bits) \
  ATOMIC_AT(_system, name, __nvvm_atom_sys_##op##_gen_##letters, type, bits)

ATOMIC(atomicAdd, add, i, int, int)
ATOMIC(atomicAdd, add, i, unsigned int, int)
ATOMIC(atomicAdd, add, ll, unsigned long long, long long)
ATOMIC(atomicAdd, add, f, float, float)
ATOMIC(atomicAdd, add, d, double, double)
ATOMIC(atomicMin, min, i, int, int)
ATOMIC(atomicMin, min, ui, unsigned int, unsigned int)
ATOMIC(atomicMin, min, ll, long long, long long)
ATOMIC(atomicMin, min, ull, unsigned long long, unsigned long long)
ATOMIC(atomicMax, max, i, int, int)
ATOMIC(atomicMax, max, ui, unsigned int, unsigned int)
ATOMIC(atomicMax, max, ll, long long, long long)
ATOMIC(atomicMax, max, ull, unsigned long long, unsigned long long)
ATOMIC(atomicInc, inc, ui, unsigned int, unsigned int)
ATOMIC(atomicDec, dec, ui, unsigned int, unsigned int)
ATOMIC(atomicExch, xchg, i, int, int)
ATOMIC(atomicExch, xchg, i, unsigned int, int)
ATOMIC(atomicExch, xchg, ll, unsigned long long, long long)
#define ATOMIC_BITWISE(name, op)         \
  ATOMIC(name, op, i, int, int)          \
  ATOMIC(name, op, i, unsigned int, int) \
  ATOMIC(name, op, ll, unsigned long long, long long)
ATOMIC_BITWISE(atomicAnd, and)
ATOMIC_BITWISE(atomicOr, or)
ATOMIC_BITWISE(atomicXor, xor)
#undef ATOMIC_BITWISE
#undef ATOMIC
#undef ATOMIC_AT

// Composed from the above, as PTX does it: subtraction adds the negative, a float is exchanged as its bits.
#define COMPOSED(suffix, scope)                                                                                        \
  FABRICBENCH_DEVICE int atomicSub##suffix(int* address, int value) { return atomicAdd##suffix(address, -value); }     \
  FABRICBENCH_DEVICE unsigned int atomicSub##suffix(unsigned int* address, unsigned int value) {                       \
    return atomicAdd##suffix(address, 0u - value);                                                                     \
  }                                                                                                                    \
  FABRICBENCH_DEVICE float atomicExch##suffix(float* address, float value) {                                           \
    return __builtin_bit_cast(float,                                                                                   \
                              atomicExch##suffix(reinterpret_cast<int*>(address), __builtin_bit_cast(int, value)));    \
  }                                                                                                                    \
  FABRICBENCH_DEVICE int atomicCAS##suffix(int* address, int compare, int value) {                                     \
    return __nvvm_atom_##scope##cas_gen_i(address, compare, value);                                                    \
  }                                                                                                                    \
  FABRICBENCH_DEVICE unsigned int atomicCAS##suffix(unsigned int* address, unsigned int compare, unsigned int value) { \
    return static_cast<unsigned int>(__nvvm_atom_##scope##cas_gen_i(                                                   \
        reinterpret_cast<int*>(address), static_cast<int>(compare), static_cast<int>(value)));                         \
  }                                                                                                                    \
  FABRICBENCH_DEVICE unsigned long long atomicCAS##suffix(unsigned long long* address, unsigned long long compare,     \
                                                          unsigned long long value) {                                  \
    return static_cast<unsigned long long>(__nvvm_atom_##scope##cas_gen_ll(                                            \
        reinterpret_cast<long long*>(address), static_cast<long long>(compare), static_cast<long long>(value)));       \
  }
COMPOSED(, )
COMPOSED(_block, cta_)
COMPOSED(_system, sys_)
#undef COMPOSED

// Forms without a clang built-in.
#define CAS16(suffix, scope)                                                                           \
  FABRICBENCH_DEVICE unsigned short atomicCAS##suffix(unsigned short* address, unsigned short compare, \
                                                      unsigned short value) {                          \
    unsigned short old;                                                                                \
    asm volatile("atom" scope ".cas.b16 %0, [%1], %2, %3;"                                             \
                 : "=h"(old)                                                                           \
                 : "l"(address), "h"(compare), "h"(value)                                              \
                 : "memory");                                                                          \
    return old;                                                                                        \
  }
CAS16(, "")
CAS16(_block, ".cta")
CAS16(_system, ".sys")
#undef CAS16

// Vector adds of sm_90: global memory only, each element atomic by itself.
#define VECTOR_ADD(suffix, scope)                                                                                 \
  FABRICBENCH_DEVICE float2 atomicAdd##suffix(float2* address, float2 value) {                                    \
    float2 old;                                                                                                   \
    asm volatile("atom" scope ".global.add.v2.f32 {%0, %1}, [%2], {%3, %4};"                                      \
                 : "=f"(old.x), "=f"(old.y)                                                                       \
                 : "l"(__cvta_generic_to_global(address)), "f"(value.x), "f"(value.y)                             \
                 : "memory");                                                                                     \
    return old;                                                                                                   \
  }                                                                                                               \
  FABRICBENCH_DEVICE float4 atomicAdd##suffix(float4* address, float4 value) {                                    \
    float4 old;                                                                                                   \
    asm volatile("atom" scope ".global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"                      \
                 : "=f"(old.x), "=f"(old.y), "=f"(old.z), "=f"(old.w)                                             \
                 : "l"(__cvta_generic_to_global(address)), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w) \
                 : "memory");                                                                                     \
    return old;                                                                                                   \
  }
VECTOR_ADD(, "")
VECTOR_ADD(_block, ".cta")
VECTOR_ADD(_system, ".sys")
#undef VECTOR_ADD

// Exchange and compare-exchange of 16 bytes, of any type of that size and alignment.
namespace fabricbench {

template <class T, bool = sizeof(T) == 16 && alignof(T) >= 16 && __is_trivially_copyable(T)>
struct OfSixteenBytes {};
template <class T>
struct OfSixteenBytes<T, true> {
  using type = T;
};
struct alignas(16) TwoWords {
  unsigned long long low, high;
};

}  // namespace fabricbench

#define WIDE_EXCHANGE(suffix, scope)                                                                                   \
  template <class T>                                                                                                   \
  FABRICBENCH_DEVICE typename fabricbench::OfSixteenBytes<T>::type atomicExch##suffix(T* address, T value) {           \
    fabricbench::TwoWords old, v = __builtin_bit_cast(fabricbench::TwoWords, value);                                   \
    asm volatile("{ .reg .b128 d, a; mov.b128 a, {%3, %4}; atom" scope                                                 \
                 ".exch.b128 d, [%2], a; mov.b128 {%0, %1}, d; }"                                                      \
                 : "=l"(old.low), "=l"(old.high)                                                                       \
                 : "l"(address), "l"(v.low), "l"(v.high)                                                               \
                 : "memory");                                                                                          \
    return __builtin_bit_cast(T, old);                                                                                 \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  FABRICBENCH_DEVICE typename fabricbench::OfSixteenBytes<T>::type atomicCAS##suffix(T* address, T compare, T value) { \
    fabricbench::TwoWords old, c = __builtin_bit_cast(fabricbench::TwoWords, compare),                                 \
                               v = __builtin_bit_cast(fabricbench::TwoWords, value);                                   \
    asm volatile("{ .reg .b128 d, a, b; mov.b128 a, {%3, %4}; mov.b128 b, {%5, %6}; atom" scope                        \
                 ".cas.b128 d, [%2], a, b; mov.b128 {%0, %1}, d; }"                                                    \
                 : "=l"(old.low), "=l"(old.high)                                                                       \
                 : "l"(address), "l"(c.low), "l"(c.high), "l"(v.low), "l"(v.high)                                      \
                 : "memory");                                                                                          \
    return __builtin_bit_cast(T, old);                                                                                 \
  }
WIDE_EXCHANGE(, "")
WIDE_EXCHANGE(_block, ".cta")
WIDE_EXCHANGE(_system, ".sys")
#undef WIDE_EXCHANGE
