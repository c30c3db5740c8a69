#pragma once

// Elements of matrices: how each type is read as a number to compute with, and how results are rounded to it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/wire/messages.h"
#include "virtual_node/num/half.h"
#include "virtual_node/num/small_float.h"

namespace fb::machine {

template <class T>
struct PlainElement {
  using Stored = T;
  static constexpr T widen(T x) { return x; }
  template <class W>
  static T narrow(W x) {
    return static_cast<T>(x);
  }
};
// To nearest even, and no further than the type reaches.
struct Int8Element : PlainElement<int8_t> {
  template <class W>
  static int8_t narrow(W x) {
    return x != x ? int8_t{0} : static_cast<int8_t>(std::nearbyint(std::clamp<W>(x, -128, 127)));
  }
};
// Sums of integers are exact and wrap around.
struct Int32Element : PlainElement<int32_t> {
  template <class W>
  static int32_t narrow(W x) {
    if (!(std::abs(x) < 9e18)) return x != x ? 0 : x > 0 ? INT32_MAX : INT32_MIN;
    return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(x)));
  }
};
struct HalfElement {
  using Stored = uint16_t;
  static float widen(uint16_t x) { return num::f16_to_f32(x); }
  static uint16_t narrow(float x) { return num::f32_to_f16(x); }
  static uint16_t narrow(double x) { return num::f64_to_f16(x); }
};
struct BfloatElement {
  using Stored = uint16_t;
  static float widen(uint16_t x) { return num::bf16_to_f32(x); }
  static uint16_t narrow(float x) { return num::f32_to_bf16(x); }
  static uint16_t narrow(double x) { return num::f64_to_bf16(x); }
};
struct E4m3Element {
  using Stored = uint8_t;
  static float widen(uint8_t x) { return num::e4m3_to_f32(x); }
  static uint8_t narrow(float x) { return num::f32_to_e4m3(x); }
  static uint8_t narrow(double x) { return num::f32_to_e4m3(static_cast<float>(x)); }
};
struct E5m2Element {
  using Stored = uint8_t;
  static float widen(uint8_t x) { return num::e5m2_to_f32(x); }
  static uint8_t narrow(float x) { return num::f32_to_e5m2(x); }
  static uint8_t narrow(double x) { return num::f32_to_e5m2(static_cast<float>(x)); }
};

inline bool is_blas_type(wire::ElementType type) {
  using enum wire::ElementType;
  return type == i8 || type == i32 || type == f16 || type == f32 || type == f64 || type == bf16 || type == e4m3 ||
         type == e5m2 || type == i64;
}

// Calls f with the element's struct.
template <class F>
decltype(auto) with_element(wire::ElementType type, F&& f) {
  switch (type) {
    case wire::ElementType::i8:
      return std::forward<F>(f)(Int8Element{});
    case wire::ElementType::i32:
      return std::forward<F>(f)(Int32Element{});
    case wire::ElementType::i64:
      return std::forward<F>(f)(PlainElement<int64_t>{});
    case wire::ElementType::f16:
      return std::forward<F>(f)(HalfElement{});
    case wire::ElementType::f32:
      return std::forward<F>(f)(PlainElement<float>{});
    case wire::ElementType::f64:
      return std::forward<F>(f)(PlainElement<double>{});
    case wire::ElementType::bf16:
      return std::forward<F>(f)(BfloatElement{});
    case wire::ElementType::e4m3:
      return std::forward<F>(f)(E4m3Element{});
    default:
      FB_CHECK(type == wire::ElementType::e5m2);
      return std::forward<F>(f)(E5m2Element{});
  }
}

template <class E>
auto read_element(const std::byte* at) {
  typename E::Stored stored;
  std::memcpy(&stored, at, sizeof stored);
  return E::widen(stored);
}
template <class E, class W>
void write_element(std::byte* at, W x) {
  const typename E::Stored stored = E::narrow(x);
  std::memcpy(at, &stored, sizeof stored);
}

inline double read_number(wire::ElementType type, const std::byte* at) {
  return with_element(type, [at](auto e) { return static_cast<double>(read_element<decltype(e)>(at)); });
}

}  // namespace fb::machine
