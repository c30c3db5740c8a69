#pragma once

#include <concepts>
#include <cstdint>

#include "virtual_node/num/half.h"
#include "virtual_node/num/integer.h"

// Operations on several integers packed in one register.
namespace fb::num {

namespace detail {

// Byte or half-word `i` of x, extended as T's signedness says.
template <class T>
constexpr int32_t byte_of(uint32_t x, uint32_t i) {
  const uint8_t byte = static_cast<uint8_t>(x >> (8 * i));
  return std::is_signed_v<T> ? static_cast<int8_t>(byte) : byte;
}

template <class T>
constexpr int32_t half_of(uint32_t x, uint32_t i) {
  const uint16_t half = static_cast<uint16_t>(x >> (16 * i));
  return std::is_signed_v<T> ? static_cast<int16_t>(half) : half;
}

}  // namespace detail

// dp4a.atype.btype: A and B are int32_t or uint32_t and say how the bytes extend. The 32-bit sum wraps, so its
// signedness does not matter.
template <class A, class B>
constexpr uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t i = 0; i < 4; ++i) c += static_cast<uint32_t>(detail::byte_of<A>(a, i) * detail::byte_of<B>(b, i));
  return c;
}

// dp2a.{lo,hi}: the two half-words of a with the two lower or upper bytes of b.
template <class A, class B, bool hi>
constexpr uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t i = 0; i < 2; ++i) {
    c += static_cast<uint32_t>(detail::half_of<A>(a, i) * detail::byte_of<B>(b, i + (hi ? 2 : 0)));
  }
  return c;
}

// u16x2 and s16x2: T is uint16_t or int16_t.
template <class T>
  requires(sizeof(T) == 2)
constexpr uint16_t min_16(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>(min(static_cast<T>(a), static_cast<T>(b)));
}

template <class T>
  requires(sizeof(T) == 2)
constexpr uint16_t max_16(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>(max(static_cast<T>(a), static_cast<T>(b)));
}

constexpr uint16_t add_16(uint16_t a, uint16_t b) { return static_cast<uint16_t>(a + b); }
constexpr uint16_t relu_16(uint16_t x) { return (x & 0x8000) != 0 ? 0 : x; }

constexpr uint32_t min_u16x2(uint32_t a, uint32_t b) { return pairwise<min_16<uint16_t>>(a, b); }
constexpr uint32_t max_u16x2(uint32_t a, uint32_t b) { return pairwise<max_16<uint16_t>>(a, b); }
constexpr uint32_t min_s16x2(uint32_t a, uint32_t b) { return pairwise<min_16<int16_t>>(a, b); }
constexpr uint32_t max_s16x2(uint32_t a, uint32_t b) { return pairwise<max_16<int16_t>>(a, b); }
constexpr uint32_t add_16x2(uint32_t a, uint32_t b) { return pairwise<add_16>(a, b); }
constexpr uint32_t relu_s16x2(uint32_t x) { return pairwise<relu_16>(x); }

}  // namespace fb::num
