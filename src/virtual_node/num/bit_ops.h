#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

// Shifts, bit fields, byte permutation and three-input logic.
namespace fb::num {

template <class T>
inline constexpr uint32_t kWidth = sizeof(T) * 8;

// Shift amounts above the register width are clamped to it (PTX), not taken modulo (x86).
template <std::integral T>
constexpr T shl(T a, uint32_t amount) {
  using U = std::make_unsigned_t<T>;
  const U shifted = static_cast<U>(static_cast<U>(a) << (amount & (kWidth<T> - 1)));
  return static_cast<T>(amount < kWidth<T> ? shifted : U{0});
}

// Arithmetic for signed T, logical for unsigned T.
template <std::integral T>
constexpr T shr(T a, uint32_t amount) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (amount < kWidth<T> ? amount : kWidth<T> - 1));
  } else {
    const T shifted = static_cast<T>(a >> (amount & (kWidth<T> - 1)));
    return amount < kWidth<T> ? shifted : T{0};
  }
}

enum class Overrun : uint8_t { clamp, wrap };

// shf: shifts the 64-bit value b:a and returns its upper (l) or lower (r) word.
template <Overrun mode>
constexpr uint32_t shf_l(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = mode == Overrun::wrap ? c & 31 : (c < 32 ? c : 32);
  return static_cast<uint32_t>(((static_cast<uint64_t>(b) << 32 | a) << n) >> 32);
}

template <Overrun mode>
constexpr uint32_t shf_r(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = mode == Overrun::wrap ? c & 31 : (c < 32 ? c : 32);
  return static_cast<uint32_t>((static_cast<uint64_t>(b) << 32 | a) >> n);
}

// The lowest `count` bits set; all of them from the width on.
template <std::unsigned_integral U>
constexpr U low_mask(uint32_t count) {
  return static_cast<U>(~shl(static_cast<U>(~U{0}), count));
}

// bfe: position and length are the low bytes of b and c. Bits beyond the register, and for signed T those above the
// field, are copies of the field's top bit (of the register's, where the field reaches over it).
template <std::integral T>
constexpr T bfe(T a, uint32_t b, uint32_t c) {
  using U = std::make_unsigned_t<T>;
  const uint32_t position = b & 0xff;
  const uint32_t length = c & 0xff;
  const uint32_t available = position < kWidth<T> ? kWidth<T> - position : 0;
  const U mask = low_mask<U>(length < available ? length : available);
  const U field = static_cast<U>(shr(static_cast<U>(a), position) & mask);
  if constexpr (std::is_unsigned_v<T>) return field;
  const uint32_t last = position + length - 1;
  const uint32_t top = last < kWidth<T> - 1 ? last : kWidth<T> - 1;
  const bool sign = length != 0 && ((static_cast<U>(a) >> top) & 1) != 0;
  return static_cast<T>(sign ? static_cast<U>(field | static_cast<U>(~mask)) : field);
}

// bfi: the low bits of a replace a field of b.
template <std::unsigned_integral U>
constexpr U bfi(U a, U b, uint32_t c, uint32_t d) {
  const uint32_t position = c & 0xff;
  const U mask = shl(low_mask<U>(d & 0xff), position);
  return static_cast<U>((shl(a, position) & mask) | (b & static_cast<U>(~mask)));
}

constexpr uint32_t popc(uint32_t x) { return static_cast<uint32_t>(std::popcount(x)); }
constexpr uint32_t popc(uint64_t x) { return static_cast<uint32_t>(std::popcount(x)); }
constexpr uint32_t clz(uint32_t x) { return static_cast<uint32_t>(std::countl_zero(x)); }
constexpr uint32_t clz(uint64_t x) { return static_cast<uint32_t>(std::countl_zero(x)); }

// bfind: position of the highest bit that differs from the sign; 0xffffffff if there is none.
template <bool shiftamt = false, std::integral T>
constexpr uint32_t bfind(T a) {
  using U = std::make_unsigned_t<T>;
  const U x = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  const uint32_t zeros = static_cast<uint32_t>(std::countl_zero(x));
  const uint32_t found = shiftamt ? zeros : kWidth<T> - 1 - zeros;
  return x == 0 ? ~uint32_t{0} : found;
}

constexpr uint32_t brev(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
  return x >> 16 | x << 16;
}

constexpr uint64_t brev(uint64_t x) {
  return static_cast<uint64_t>(brev(static_cast<uint32_t>(x))) << 32 | brev(static_cast<uint32_t>(x >> 32));
}

// fns: position of the |offset|-th set bit counted from base, upwards for offset > 0, downwards for offset < 0, base
// itself counting; offset 0 asks for base alone. base above 31 is undefined in PTX and finds nothing here.
constexpr uint32_t fns(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31) return ~uint32_t{0};
  if (offset == 0) return (mask >> base & 1) != 0 ? base : ~uint32_t{0};
  uint32_t left = offset < 0 ? uint32_t{0} - static_cast<uint32_t>(offset) : static_cast<uint32_t>(offset);
  const int step = offset > 0 ? 1 : -1;
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1) != 0 && --left == 0) return static_cast<uint32_t>(position);
  }
  return ~uint32_t{0};
}

enum class PrmtMode : uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

namespace detail {

// Which of the eight bytes b:a goes to byte `i` of the result.
template <PrmtMode mode>
constexpr uint32_t prmt_source(uint32_t i, uint32_t c) {
  const uint32_t s = c & 3;
  switch (mode) {
    case PrmtMode::index:
      return c >> (4 * i) & 7;
    case PrmtMode::f4e:
      return s + i;
    case PrmtMode::b4e:
      return (s - i) & 7;
    case PrmtMode::rc8:
      return s;
    case PrmtMode::ecl:
      return i > s ? i : s;
    case PrmtMode::ecr:
      return i < s ? i : s;
    case PrmtMode::rc16:
      return (i & 1) + 2 * (s & 1);
  }
  return 0;
}

}  // namespace detail

// prmt. In the index mode bit 3 of a selector replicates the byte's sign bit instead of copying the byte.
template <PrmtMode mode = PrmtMode::index>
constexpr uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t r = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * detail::prmt_source<mode>(i, c))) & 0xff;
    if constexpr (mode == PrmtMode::index) {
      const uint32_t sign = (byte >> 7) * 0xff;
      byte = (c >> (4 * i) & 8) != 0 ? sign : byte;
    }
    r |= byte << (8 * i);
  }
  return r;
}

// lop3: table bit 4a + 2b + c for every bit position (a = 0xF0, b = 0xCC, c = 0xAA).
constexpr uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (uint32_t k = 0; k < 8; ++k) {
    const uint32_t chosen = uint32_t{0} - (table >> k & 1);
    r |= chosen & ((k & 4) != 0 ? a : ~a) & ((k & 2) != 0 ? b : ~b) & ((k & 1) != 0 ? c : ~c);
  }
  return r;
}

// szext: extends the low N bits of a, N = b. N >= 32: clamp returns a, wrap takes N modulo 32. N = 0 gives 0.
template <Overrun mode, class T>
  requires std::same_as<T, int32_t> || std::same_as<T, uint32_t>
constexpr T szext(T a, uint32_t b) {
  const uint32_t bits = static_cast<uint32_t>(a);
  const uint32_t n = mode == Overrun::wrap ? b & 31 : b;
  const uint32_t mask = low_mask<uint32_t>(n);
  const bool sign = std::is_signed_v<T> && n != 0 && (bits >> ((n - 1) & 31) & 1) != 0 && n < 32;
  return static_cast<T>((bits & mask) | (sign ? ~mask : 0));
}

// bmsk: b bits set from position a. clamp: a >= 32 gives 0, b >= 32 reaches the top; wrap: both modulo 32.
template <Overrun mode>
constexpr uint32_t bmsk(uint32_t a, uint32_t b) {
  if constexpr (mode == Overrun::wrap) return (low_mask<uint32_t>(b & 31)) << (a & 31);
  return shl(low_mask<uint32_t>(b), a);
}

}  // namespace fb::num
