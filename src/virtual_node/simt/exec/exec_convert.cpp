// Conversions: PTX ISA, "Data Movement and Conversion Instructions: cvt, cvt.pack".
//
// Scalar conversions are the only arithmetic whose registers may be wider than their types. The source is then the low
// bits of its register; the result is extended to its register, with its sign if its type has one.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_convert.cpp"
#include <hwy/foreach_target.h>

#include <tuple>

#include "virtual_node/num/small_float.h"
#include "virtual_node/simt/exec/conversions.h"
#include "virtual_node/simt/exec/float_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

using num::Rounding;
using ptx::Mod;
using ptx::Type;

// One loop for every mask and width, because there are many conversions: results that cannot go straight to their row
// pass through a buffer.
template <class F, class D, class S>
[[gnu::flatten]] const Inst* run_convert(Warp& w, const Inst& i) {
  S buffer[kLanes];
  D results[kLanes];
  const S* source = i.width[1] <= sizeof(S) ? w.src<S>(i.op[1]) : narrowed(w, i.op[1], i.width[1], buffer);
  const bool direct = w.exec == kAllLanes && i.width[0] <= sizeof(D);
  D* out = direct ? w.row<D>(i.op[0]) : results;
  FB_LANE_LOOP
  for (uint32_t l = 0; l < kLanes; ++l) out[l] = F{}(source[l]);
  if (!direct) [[unlikely]]
    extend(w, i.op[0], i.width[0], results);
  return &i + 1;
}

// The conversion d = f(a) from type S to type D, whatever the registers.
template <class D, class S, class F>
Exec conversion(F) {
  static_assert(std::is_empty_v<F>, "an instruction keeps no state");
  return &run_convert<F, D, S>;
}

// The same for operands whose registers are as wide as they are.
template <class F, class D, class... S>
[[gnu::flatten]] const Inst* run_packed(Warp& w, const Inst& i) {
  D results[kLanes];
  const bool direct = w.exec == kAllLanes;
  D* out = direct ? w.row<D>(i.op[0]) : results;
  [&]<size_t... K>(std::index_sequence<K...>) HWY_ATTR {
    const auto sources = std::tuple(w.src<S>(i.op[K + 1])...);
    FB_LANE_LOOP
    for (uint32_t l = 0; l < kLanes; ++l) out[l] = F{}(std::get<K>(sources)[l]...);
  }(std::index_sequence_for<S...>{});
  if (!direct) [[unlikely]]
    extend(w, i.op[0], sizeof(D), results);
  return &i + 1;
}

template <class D, class... S, class F>
Exec packed_conversion(F) {
  static_assert(std::is_empty_v<F>, "an instruction keeps no state");
  return &run_packed<F, D, S...>;
}

template <class D, class S, class F>
Exec widened_conversion(F) {
  static_assert(std::is_empty_v<F>, "an instruction keeps no state");
  return &run_widened<F, D, S>;
}

template <class F>
Exec by_int(Type type, F f) {
  return by_type<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(type, f);
}

template <class F>
Exec by_format(Type type, F f) {
  switch (type) {
    case Type::f16:
      return f.template operator()<F16>();
    case Type::bf16:
      return f.template operator()<Bf16>();
    case Type::f32:
      return f.template operator()<F32>();
    case Type::f64:
      return f.template operator()<F64>();
    default:
      return nullptr;
  }
}

bool has_integer_rounding(const ptx::Instruction& inst) {
  return inst.has(Mod::rni) || inst.has(Mod::rzi) || inst.has(Mod::rmi) || inst.has(Mod::rpi);
}

bool has_float_rounding(const ptx::Instruction& inst) {
  return inst.has(Mod::rn) || inst.has(Mod::rz) || inst.has(Mod::rm) || inst.has(Mod::rp);
}

}  // namespace

FB_EXEC(cvt_int_to_int) {
  return by_int(s.inst.type(0), [&]<class D>() {
    return by_int(s.inst.type(1), [&]<class S>() {
      if (s.inst.has(Mod::sat)) return widened_conversion<D, Int<S>>(Saturate<D>{});
      return conversion<D, S>([](S x) { return static_cast<D>(x); });
    });
  });
}

// No integer becomes a subnormal f32, so .ftz has nothing to do.
FB_EXEC(cvt_int_to_float) {
  const Mods mods = mods_of(s.inst);
  return by_format(s.inst.type(0), [&]<class D>() {
    using Row = typename D::Row;
    return by_int(s.inst.type(1), [&]<class S>() -> Exec {
      if constexpr (sizeof(Row) > 2) {
        if (mods.rounding == Rounding::rn && !mods.sat) return conversion<Row, S>(IntTo<D, num::kRn>{});
      }
      const auto convert = []<Mods M>() { return widened_conversion<Row, Int<S>>(IntTo<D, M>{}); };
      return mods.sat ? by_rounding<Mods{.sat = true}>(mods.rounding, convert)
                      : by_rounding<num::kRn>(mods.rounding, convert);
    });
  });
}

// .sat is implied. .ftz only has a meaning for f32, and only where a subnormal would become 1 or -1.
FB_EXEC(cvt_float_to_int) {
  const Mods mods = mods_of(s.inst);
  return by_int(s.inst.type(0), [&]<class D>() {
    return by_format(s.inst.type(1), [&]<class S>() -> Exec {
      const auto convert = []<Mods M>() { return widened_conversion<D, S>(FloatToInt<D, M>{}); };
      if constexpr (std::is_same_v<S, F32>) {
        if (mods.rounding == Rounding::rz) return conversion<D, float>(FloatToInt<D, num::kRz>{});
        if (mods.ftz && mods.rounding == Rounding::rm) return convert.template operator()<Mods{Rounding::rm, true}>();
        if (mods.ftz && mods.rounding == Rounding::rp) return convert.template operator()<Mods{Rounding::rp, true}>();
      }
      return by_rounding<num::kRn>(mods.rounding, convert);
    });
  });
}

namespace {

// Between two of the four formats. The rounding of M matters only where the destination is narrower.
template <class D, class S>
Exec float_to_float(Mods m) {
  constexpr bool kNarrows =
      sizeof(typename D::Row) < sizeof(typename S::Row) || (sizeof(typename D::Row) == 2 && !std::is_same_v<D, S>);
  constexpr bool kSingle = std::is_same_v<D, F32> || std::is_same_v<S, F32>;  // where .ftz has a meaning
  constexpr bool kHalfToF32 = std::is_same_v<D, F32> && sizeof(typename S::Row) == 2;
  const auto convert = []<Mods M>() {
    return widened_conversion<typename D::Row, S>(std::conditional_t<kHalfToF32, ToF32<M>, To<D, M>>{});
  };
  const auto with = [&]<Mods Others>() {
    if constexpr (kNarrows)
      return by_rounding<Others>(m.rounding, convert);
    else
      return convert.template operator()<Others>();
  };
  if (m.relu || m.satfinite) {
    // From f32 to a half, and only these modes.
    if constexpr (sizeof(typename D::Row) == 2 && std::is_same_v<S, F32>) {
      constexpr Rounding kRn = Rounding::rn, kRz = Rounding::rz;
      return by_choice<Mods{.rounding = kRn, .relu = true}, Mods{.rounding = kRn, .satfinite = true},
                       Mods{.rounding = kRn, .relu = true, .satfinite = true}, Mods{.rounding = kRz, .relu = true},
                       Mods{.rounding = kRz, .satfinite = true},
                       Mods{.rounding = kRz, .relu = true, .satfinite = true}>(m, convert);
    }
    return nullptr;
  }
  if constexpr (kSingle) {
    if (m.ftz && m.sat) return with.template operator()<Mods{.ftz = true, .sat = true}>();
    if (m.ftz) return with.template operator()<Mods{.ftz = true}>();
  }
  if (m.sat) return with.template operator()<Mods{.sat = true}>();
  if (m.rounding == Rounding::rn) {
    using Row = typename S::Row;
    return conversion<typename D::Row, Row>([](Row x) {
      if constexpr (kHalfToF32)
        return S::value(x);
      else
        return D::template from<num::kRn>(S::value(x));
    });
  }
  return with.template operator()<num::kRn>();
}

// To an integral value of the same format.
template <class T>
Exec round_to_integral(Mods m) {
  using Row = typename T::Row;
  const auto convert = []<Mods M>() { return widened_conversion<Row, T>(ToIntegral<T, M>{}); };
  if (m.relu || m.satfinite) return nullptr;
  if constexpr (std::is_same_v<T, F32>) {
    if (m.ftz && m.sat) return by_rounding<Mods{.ftz = true, .sat = true}>(m.rounding, convert);
    if (m.ftz) return by_rounding<Mods{.ftz = true}>(m.rounding, convert);
  }
  if (m.sat) return by_rounding<Mods{.sat = true}>(m.rounding, convert);
  return by_rounding<num::kRn>(m.rounding, convert);
}

}  // namespace

FB_EXEC(cvt_float_to_float) {
  const Mods mods = mods_of(s.inst);
  return by_format(s.inst.type(0), [&]<class D>() {
    return by_format(s.inst.type(1), [&]<class S>() -> Exec {
      constexpr bool kSame = std::is_same_v<D, S>;
      if (has_integer_rounding(s.inst)) {
        if constexpr (kSame)
          return round_to_integral<D>(mods);
        else
          return nullptr;
      }
      // A rounding mode is there exactly where something may be lost.
      constexpr bool kLossless = kSame || sizeof(typename S::Row) < sizeof(typename D::Row);
      if (!kLossless && !has_float_rounding(s.inst)) return nullptr;
      return float_to_float<D, S>(mods);
    });
  });
}

// tf32 and pairs

namespace {

// .relu and .satfinite, on or off, at a given rounding.
template <Rounding R, class F>
Exec by_relu_satfinite(Mods m, F f) {
  return by_choice<Mods{R}, Mods{.rounding = R, .relu = true}, Mods{.rounding = R, .satfinite = true},
                   Mods{.rounding = R, .relu = true, .satfinite = true}>(m, f);
}

// An operation on f32 that gives the code of one element, as a template argument with its Mods.
template <num::FloatFormat F>
struct Code {
  template <Mods M, class Source>
  static constexpr uint32_t of(Source x) {
    return num::narrow<F, M>(x);
  }
};

struct Ue8m0Code {
  template <Mods M>
  static constexpr uint32_t of(float x) {
    return num::f32_to_ue8m0<M>(x);
  }
};

// d = {a, b}: a in the upper part, which begins at bit `shift`.
template <class C, Mods M, class D, int shift>
Exec pack_pair() {
  return packed_conversion<D, float, float>(
      [](float a, float b) { return static_cast<D>(C::template of<M>(a) << shift | C::template of<M>(b)); });
}

// The same with both elements from one register of packed halves.
template <class C, Mods M, class D, int shift, auto Widen>
Exec repack_pair() {
  return packed_conversion<D, uint32_t>([](uint32_t x) {
    return static_cast<D>(C::template of<M>(Widen(num::upper_half(x))) << shift |
                          C::template of<M>(Widen(num::lower_half(x))));
  });
}

inline constexpr Mods kPlainSatfinite{.satfinite = true};
inline constexpr Mods kReluSatfinite{.relu = true, .satfinite = true};

template <class C, class D, int shift>
Exec pack_small(const Selection& s) {
  return s.inst.has(Mod::relu) ? pack_pair<C, kReluSatfinite, D, shift>() : pack_pair<C, kPlainSatfinite, D, shift>();
}

template <class C, class D, int shift>
Exec repack_small(const Selection& s) {
  const bool relu = s.inst.has(Mod::relu);
  if (s.inst.type(1) == Type::f16x2) {
    return relu ? repack_pair<C, kReluSatfinite, D, shift, num::f16_to_f32>()
                : repack_pair<C, kPlainSatfinite, D, shift, num::f16_to_f32>();
  }
  return relu ? repack_pair<C, kReluSatfinite, D, shift, num::bf16_to_f32>()
              : repack_pair<C, kPlainSatfinite, D, shift, num::bf16_to_f32>();
}

// A pair of small floats to a pair of halves; `shift` as above. Exact, so that only .relu matters.
template <num::FloatFormat F, class S, int shift>
Exec widen_small(const Selection& s) {
  const auto with = []<class D, Mods M>() {
    return packed_conversion<uint32_t, S>([](S x) {
      return num::pack_halves(D::template from<M>(num::widen<F>(static_cast<uint32_t>(x) >> shift)),
                              D::template from<M>(num::widen<F>(x)));
    });
  };
  constexpr Mods kRelu{.relu = true};
  const bool relu = s.inst.has(Mod::relu);
  if (s.inst.type(0) == Type::f16x2) {
    return relu ? with.template operator()<F16, kRelu>() : with.template operator()<F16, num::kRn>();
  }
  return relu ? with.template operator()<Bf16, kRelu>() : with.template operator()<Bf16, num::kRn>();
}

}  // namespace

FB_EXEC(cvt_tf32) {
  const Mods mods = mods_of(s.inst);
  const auto convert = []<Mods M>() {
    return packed_conversion<uint32_t, float>([](float x) { return num::f32_to_tf32<M>(x); });
  };
  if (mods.rounding == Rounding::rna) {
    return mods.relu
               ? nullptr
               : by_choice<Mods{Rounding::rna}, Mods{.rounding = Rounding::rna, .satfinite = true}>(mods, convert);
  }
  return mods.rounding == Rounding::rn ? by_relu_satfinite<Rounding::rn>(mods, convert)
                                       : by_relu_satfinite<Rounding::rz>(mods, convert);
}

FB_EXEC(cvt_pack_half) {
  const Mods mods = mods_of(s.inst);
  const bool f16 = s.inst.type(0) == Type::f16x2;
  const auto convert = [f16]<Mods M>() {
    return f16 ? pack_pair<Code<num::kF16>, M, uint32_t, 16>() : pack_pair<Code<num::kBf16>, M, uint32_t, 16>();
  };
  return mods.rounding == Rounding::rn ? by_relu_satfinite<Rounding::rn>(mods, convert)
                                       : by_relu_satfinite<Rounding::rz>(mods, convert);
}

FB_EXEC(cvt_pack_fp8) {
  return s.inst.type(0) == Type::e4m3x2 ? pack_small<Code<num::kE4m3>, uint16_t, 8>(s)
                                        : pack_small<Code<num::kE5m2>, uint16_t, 8>(s);
}

FB_EXEC(cvt_pack_fp6) {
  return s.inst.type(0) == Type::e2m3x2 ? pack_small<Code<num::kE2m3>, uint16_t, 8>(s)
                                        : pack_small<Code<num::kE3m2>, uint16_t, 8>(s);
}

FB_EXEC(cvt_pack_fp4) { return pack_small<Code<num::kE2m1>, uint8_t, 4>(s); }

FB_EXEC(cvt_half_to_fp8) {
  return s.inst.type(0) == Type::e4m3x2 ? repack_small<Code<num::kE4m3>, uint16_t, 8>(s)
                                        : repack_small<Code<num::kE5m2>, uint16_t, 8>(s);
}

FB_EXEC(cvt_half_to_fp6) {
  return s.inst.type(0) == Type::e2m3x2 ? repack_small<Code<num::kE2m3>, uint16_t, 8>(s)
                                        : repack_small<Code<num::kE3m2>, uint16_t, 8>(s);
}

FB_EXEC(cvt_half_to_fp4) { return repack_small<Code<num::kE2m1>, uint8_t, 4>(s); }

FB_EXEC(cvt_fp8_to_half) {
  return s.inst.type(1) == Type::e4m3x2 ? widen_small<num::kE4m3, uint16_t, 8>(s)
                                        : widen_small<num::kE5m2, uint16_t, 8>(s);
}

FB_EXEC(cvt_fp6_to_half) {
  return s.inst.type(1) == Type::e2m3x2 ? widen_small<num::kE2m3, uint16_t, 8>(s)
                                        : widen_small<num::kE3m2, uint16_t, 8>(s);
}

FB_EXEC(cvt_fp4_to_half) { return widen_small<num::kE2m1, uint8_t, 4>(s); }

namespace {

inline constexpr Mods kRz{Rounding::rz}, kRzSatfinite{.rounding = Rounding::rz, .satfinite = true};
inline constexpr Mods kRp{Rounding::rp}, kRpSatfinite{.rounding = Rounding::rp, .satfinite = true};

}  // namespace

FB_EXEC(cvt_pack_ue8m0) {
  return by_choice<kRz, kRp, kRzSatfinite, kRpSatfinite>(
      mods_of(s.inst), []<Mods M>() { return pack_pair<Ue8m0Code, M, uint16_t, 8>(); });
}

FB_EXEC(cvt_bf16_to_ue8m0) {
  return by_choice<kRz, kRp, kRzSatfinite, kRpSatfinite>(
      mods_of(s.inst), []<Mods M>() { return repack_pair<Ue8m0Code, M, uint16_t, 8, num::bf16_to_f32>(); });
}

FB_EXEC(cvt_ue8m0_to_bf16) {
  return packed_conversion<uint32_t, uint16_t>([](uint16_t x) {
    return num::pack_halves(num::ue8m0_to_bf16(static_cast<uint8_t>(x >> 8)),
                            num::ue8m0_to_bf16(static_cast<uint8_t>(x)));
  });
}

// Stochastic rounding: how the random bits enter is not written down precisely enough to be right bit for bit.
FB_EXEC(cvt_pack_half_rs) { return nullptr; }
FB_EXEC(cvt_pack_fp8_rs) { return nullptr; }

// cvt.pack: integers

FB_EXEC(cvt_pack_int16) {
  return by_type<uint16_t, int16_t>(s.inst.type(0), []<class T>() {
    return lanes<uint32_t, int32_t, int32_t>([](int32_t a, int32_t b) {
      return num::pack_halves(static_cast<uint16_t>(num::saturate_cast<T>(a)),
                              static_cast<uint16_t>(num::saturate_cast<T>(b)));
    });
  });
}

// The two bytes push the lower half of c up.
FB_EXEC(cvt_pack_int8) {
  return by_type<uint8_t, int8_t>(s.inst.type(0), []<class T>() {
    return lanes<uint32_t, int32_t, int32_t, uint32_t>([](int32_t a, int32_t b, uint32_t c) {
      const uint32_t upper = static_cast<uint8_t>(num::saturate_cast<T>(a));
      const uint32_t lower = static_cast<uint8_t>(num::saturate_cast<T>(b));
      return c << 16 | upper << 8 | lower;
    });
  });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
