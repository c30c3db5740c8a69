#pragma once

// What conversions compute, by the types of source and destination. Outside the SIMD targets: there are hundreds of
// rare ones, and each would be compiled once per target.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "virtual_node/num/convert.h"
#include "virtual_node/num/half.h"
#include "virtual_node/simt/exec/lane_loop.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

using num::Mods;

// Types as sources and destinations: how they are kept in a row, and what that means

template <class T>
struct Int {
  using Row = T;
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  static constexpr Wide value(T x) { return x; }
};

struct F16 {
  using Row = uint16_t;
  static constexpr float value(uint16_t x) { return num::f16_to_f32(x); }
  template <Mods M, class Wide>
  static constexpr uint16_t from(Wide x) {
    return static_cast<uint16_t>(num::narrow<num::kF16, M>(x));
  }
};

struct Bf16 {
  using Row = uint16_t;
  static constexpr float value(uint16_t x) { return num::bf16_to_f32(x); }
  template <Mods M, class Wide>
  static constexpr uint16_t from(Wide x) {
    return static_cast<uint16_t>(num::narrow<num::kBf16, M>(x));
  }
};

struct F32 {
  using Row = float;
  static constexpr float value(float x) { return x; }
  template <Mods M>
  static constexpr float from(float x) {
    return num::f_to_same<M>(x);
  }
  template <Mods M>
  static constexpr float from(double x) {
    return num::f64_to_f32<M>(x);
  }
};

struct F64 {
  using Row = double;
  static constexpr double value(double x) { return x; }
  template <Mods M>
  static constexpr double from(float x) {
    return num::f32_to_f64<M>(x);
  }
  template <Mods M>
  static constexpr double from(double x) {
    return num::f_to_same<M>(x);
  }
};

// Operations

template <class D>
struct Saturate {
  template <class S>
  constexpr D operator()(S x) const {
    return num::saturate_cast<D>(x);
  }
};

template <class D, Mods M>
struct IntTo {
  template <class S>
  constexpr typename D::Row operator()(S x) const {
    if constexpr (std::is_same_v<D, F16>)
      return num::int_to_f16<M>(x);
    else if constexpr (std::is_same_v<D, Bf16>)
      return num::int_to_bf16<M>(x);
    else
      return num::int_to_float<typename D::Row, M>(x);
  }
};

template <class D, Mods M>
struct FloatToInt {
  template <class S>
  D operator()(S x) const {
    return num::float_to_int<D, M>(x);
  }
};

template <class D, Mods M>
struct To {
  template <class S>
  constexpr typename D::Row operator()(S x) const {
    return D::template from<M>(x);
  }
};

// From a half to f32 S::value has done it all, and decided what becomes of a NaN.
template <Mods M>
struct ToF32 {
  constexpr float operator()(float x) const {
    const float r = M.ftz ? num::flush(x) : x;
    return M.sat ? num::saturate(r) : r;
  }
};

template <class T, Mods M>
struct ToIntegral {
  template <class S>
  constexpr typename T::Row operator()(S x) const {
    return T::template from<num::kRn>(num::round_to_integral<M>(x));
  }
};

// Rows

template <size_t bytes>
using Unsigned =
    std::conditional_t<bytes == 1, uint8_t,
                       std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// The low bits of each lane's register as a T.
template <class T, class Reg>
inline void read_low(const Reg* row, T* out) {
  FB_LANE_LOOP
  for (uint32_t l = 0; l < kLanes; ++l) out[l] = std::bit_cast<T>(static_cast<Unsigned<sizeof(T)>>(row[l]));
}

template <class T>
[[gnu::noinline]] const T* narrowed(const Warp& w, int32_t op, uint8_t width, T* buffer) {
  switch (width) {
    case 2:
      read_low(w.src<uint16_t>(op), buffer);
      return buffer;
    case 4:
      read_low(w.src<uint32_t>(op), buffer);
      return buffer;
    case 8:
      read_low(w.src<uint64_t>(op), buffer);
      return buffer;
    default:
      return w.src<T>(op);
  }
}

// Writes values to a register row of another width; Reg has the signedness of T.
template <class Reg, class T>
inline void write_extended(Mask exec, Reg* row, const T* values) {
  const auto extended = [](T v) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<Reg>(std::bit_cast<Unsigned<sizeof(T)>>(v));
    else
      return static_cast<Reg>(v);
  };
  if (exec == kAllLanes) {
    FB_LANE_LOOP
    for (uint32_t l = 0; l < kLanes; ++l) row[l] = extended(values[l]);
  } else {
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((exec >> l & 1) != 0) row[l] = extended(values[l]);
    }
  }
}

template <class T>
[[gnu::noinline]] void extend(Warp& w, int32_t op, uint8_t width, const T* values) {
  constexpr bool kSigned = std::is_integral_v<T> && std::is_signed_v<T>;
  switch (width) {
    case 2:
      write_extended(w.exec, w.row<std::conditional_t<kSigned, int16_t, uint16_t>>(op), values);
      return;
    case 4:
      write_extended(w.exec, w.row<std::conditional_t<kSigned, int32_t, uint32_t>>(op), values);
      return;
    case 8:
      write_extended(w.exec, w.row<std::conditional_t<kSigned, int64_t, uint64_t>>(op), values);
      return;
    default:
      write_extended(w.exec, w.row<T>(op), values);
      return;
  }
}

// The rarer conversions widen their source first (S::value), so that sources of one kind share the loop that computes.

template <class F, class D, class Wide>
[[gnu::flatten, gnu::noinline]] void convert_wide(const Wide* source, D* out) {
  FB_LANE_LOOP
  for (uint32_t l = 0; l < kLanes; ++l) out[l] = F{}(source[l]);
}

template <class S, class Wide>
[[gnu::noinline]] void read_wide(const Warp& w, const Inst& i, Wide* out) {
  typename S::Row buffer[kLanes];
  const auto* source = narrowed(w, i.op[1], i.width[1], buffer);
  FB_LANE_LOOP
  for (uint32_t l = 0; l < kLanes; ++l) out[l] = S::value(source[l]);
}

template <class F, class D, class S>
const Inst* run_widened(Warp& w, const Inst& i) {
  using Wide = decltype(S::value(typename S::Row{}));
  Wide source[kLanes];
  D results[kLanes];
  read_wide<S>(w, i, source);
  convert_wide<F>(source, results);
  extend(w, i.op[0], i.width[0], results);
  return &i + 1;
}

}  // namespace fb::simt
