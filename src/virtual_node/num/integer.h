#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// Integer arithmetic as PTX defines it: wraps silently, never traps the host.
namespace fb::num {

namespace detail {

template <size_t bytes>
struct TwiceAsWide;
template <>
struct TwiceAsWide<2> {
  using Signed = int32_t;
  using Unsigned = uint32_t;
};
template <>
struct TwiceAsWide<4> {
  using Signed = int64_t;
  using Unsigned = uint64_t;
};
template <>
struct TwiceAsWide<8> {
  using Signed = __int128;
  using Unsigned = unsigned __int128;
};

template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, typename TwiceAsWide<sizeof(T)>::Signed,
                                typename TwiceAsWide<sizeof(T)>::Unsigned>;

}  // namespace detail

// mul.wide
template <std::integral T>
constexpr detail::Wide<T> mul_wide(T a, T b) {
  return static_cast<detail::Wide<T>>(a) * b;
}

template <std::integral T>
constexpr T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<uint64_t>(b));
}

template <std::integral T>
constexpr T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> (sizeof(T) * 8));
}

namespace detail {

// The low 24 bits, extended from bit 23.
constexpr int64_t low24(int32_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8; }
constexpr uint64_t low24(uint32_t x) { return x & 0xffffffu; }

}  // namespace detail

// mul24.lo: the low 32 bits of the 48-bit product; mul24.hi: its bits 47..16.
template <class T>
  requires std::same_as<T, int32_t> || std::same_as<T, uint32_t>
constexpr T mul24_lo(T a, T b) {
  return static_cast<T>(detail::low24(a) * detail::low24(b));
}

template <class T>
  requires std::same_as<T, int32_t> || std::same_as<T, uint32_t>
constexpr T mul24_hi(T a, T b) {
  return static_cast<T>((detail::low24(a) * detail::low24(b)) >> 16);
}

// |a - b| + c, where the difference is taken without overflow.
template <std::integral T>
constexpr T sad(T a, T b, T c) {
  using U = std::make_unsigned_t<T>;
  const U difference = a < b ? static_cast<U>(static_cast<U>(b) - static_cast<U>(a))
                             : static_cast<U>(static_cast<U>(a) - static_cast<U>(b));
  return static_cast<T>(static_cast<U>(c) + difference);
}

// PTX leaves division by zero unspecified; GPUs give all ones, and the dividend as the remainder. INT_MIN / -1 wraps to
// INT_MIN with remainder 0.
template <std::integral T>
constexpr T div(T a, T b) {
  const bool overflow = std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1);
  const T divisor = b == 0 || overflow ? T{1} : b;
  const T quotient = static_cast<T>(a / divisor);
  return b == 0 ? static_cast<T>(~T{0}) : quotient;
}

template <std::integral T>
constexpr T rem(T a, T b) {
  const bool trivial = std::is_signed_v<T> && b == static_cast<T>(-1);
  const T divisor = b == 0 || trivial ? T{1} : b;
  const T remainder = static_cast<T>(a % divisor);
  return b == 0 ? a : remainder;
}

constexpr int32_t add_sat(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + b;
  const int64_t capped = sum > INT32_MAX ? INT32_MAX : sum;
  return static_cast<int32_t>(capped < INT32_MIN ? INT32_MIN : capped);
}

constexpr int32_t sub_sat(int32_t a, int32_t b) {
  const int64_t difference = int64_t{a} - b;
  const int64_t capped = difference > INT32_MAX ? INT32_MAX : difference;
  return static_cast<int32_t>(capped < INT32_MIN ? INT32_MIN : capped);
}

// mad.hi.sat.s32: the upper half of the product plus c, clamped.
constexpr int32_t mad_hi_sat(int32_t a, int32_t b, int32_t c) { return add_sat(mul_hi(a, b), c); }

// A result and CC.CF after it.
template <class T>
struct WithCarry {
  T value;
  bool carry;
  friend constexpr bool operator==(const WithCarry&, const WithCarry&) = default;
};

// add.cc (carry_in = false) and addc.cc.
template <std::unsigned_integral T>
constexpr WithCarry<T> add_carry(T a, T b, bool carry_in) {
  const T partial = static_cast<T>(a + b);
  const T sum = static_cast<T>(partial + static_cast<T>(carry_in));
  return {sum, partial < a || sum < partial};
}

// sub.cc (borrow_in = false) and subc.cc. `carry` is the borrow: PTX keeps the borrow itself in CC.CF.
template <std::unsigned_integral T>
constexpr WithCarry<T> sub_borrow(T a, T b, bool borrow_in) {
  const T partial = static_cast<T>(a - b);
  const T difference = static_cast<T>(partial - static_cast<T>(borrow_in));
  return {difference, a < b || partial < static_cast<T>(borrow_in)};
}

// mad{c}.{lo,hi}.cc: the chosen half of the product plus c plus carry.
template <std::unsigned_integral T>
constexpr WithCarry<T> mad_lo_carry(T a, T b, T c, bool carry_in) {
  return add_carry(mul_lo(a, b), c, carry_in);
}
// abs and neg of the most negative value wrap to itself.
template <std::signed_integral T>
constexpr T neg(T x) {
  return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x));
}
template <std::signed_integral T>
constexpr T abs(T x) {
  return x < 0 ? neg(x) : x;
}

template <std::integral T>
constexpr T min(T a, T b) {
  return a < b ? a : b;
}
template <std::integral T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
// min.relu and max.relu (s32, s16x2).
template <std::signed_integral T>
constexpr T relu(T x) {
  return x < 0 ? T{0} : x;
}

}  // namespace fb::num
