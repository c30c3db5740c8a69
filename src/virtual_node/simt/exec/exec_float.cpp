// Single and double precision: PTX ISA, "Floating Point Instructions" and "Mixed Precision Floating Point
// Instructions". What a NaN result looks like is decided in virtual_node/num/arith.h, for every instruction here.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_float.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/approx.h"
#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"
#include "virtual_node/num/minmax.h"
#include "virtual_node/simt/exec/float_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

using num::Mods;
using ptx::Mod;
using ptx::Type;

// f32 with rounding, ftz and sat; f64 with rounding alone.
template <class F>
Exec by_mods_f32(Mods m, F f) {
  if (m.ftz && m.sat) return by_rounding<Mods{.ftz = true, .sat = true}>(m.rounding, f);
  if (m.ftz) return by_rounding<Mods{.ftz = true}>(m.rounding, f);
  if (m.sat) return by_rounding<Mods{.sat = true}>(m.rounding, f);
  return by_rounding<num::kRn>(m.rounding, f);
}

template <class F>
Exec by_mods(const Selection& s, F f) {
  const Mods m = mods_of(s.inst);
  if (s.inst.type() == Type::f32) return by_mods_f32(m, [f]<Mods M>() { return f.template operator()<float, M>(); });
  if (m.ftz || m.sat) return nullptr;
  return by_rounding<num::kRn>(m.rounding, [f]<Mods M>() { return f.template operator()<double, M>(); });
}

// One choice: flushes subnormals (f32 only) or not.
template <class F>
Exec by_ftz(const Selection& s, F f) {
  const bool ftz = s.inst.has(Mod::ftz);
  if (s.inst.type() == Type::f64) return ftz ? nullptr : f.template operator()<double, num::kRn>();
  return ftz ? f.template operator()<float, Mods{.ftz = true}>() : f.template operator()<float, num::kRn>();
}

template <class F>
Exec by_mods_x2(const Selection& s, F f) {
  const Mods m = mods_of(s.inst);
  return m.ftz ? by_rounding<Mods{.ftz = true}>(m.rounding, f) : by_rounding<num::kRn>(m.rounding, f);
}

// f32 arithmetic with f16 or bf16 operands: f<M, Widen>(), Widen being the exact conversion to f32.
template <class F>
Exec by_mods_mixed(const Selection& s, F f) {
  const Mods m = mods_of(s.inst);
  const auto with = [&]<Mods Others>() {
    if (s.inst.type(1) == Type::f16) {
      return by_rounding<Others>(m.rounding, [f]<Mods M>() { return f.template operator()<M, num::f16_to_f32>(); });
    }
    return by_rounding<Others>(m.rounding, [f]<Mods M>() { return f.template operator()<M, num::bf16_to_f32>(); });
  };
  return m.sat ? with.template operator()<Mods{.sat = true}>() : with.template operator()<num::kRn>();
}

template <class T, class Test>
Exec test(Test) {
  return [](Warp& w, const Inst& i) {
    const T* a = w.src<T>(i.op[1]);
    w.set_predicate(i.op[0], test_lanes<T>([](T x, T) { return Test{}(x); }, a, a));
    return &i + 1;
  };
}

}  // namespace

FB_EXEC(testp) {
  return by_float(s.inst.type(), [&]<class T>() -> Exec {
    if (s.inst.has(Mod::finite)) return test<T>([](T x) { return num::is_finite(x); });
    if (s.inst.has(Mod::infinite)) return test<T>([](T x) { return num::is_infinite(x); });
    if (s.inst.has(Mod::number)) return test<T>([](T x) { return !num::is_nan(x); });
    if (s.inst.has(Mod::notanumber)) return test<T>([](T x) { return num::is_nan(x); });
    if (s.inst.has(Mod::normal)) return test<T>([](T x) { return num::is_normal(x); });
    if (s.inst.has(Mod::subnormal)) return test<T>([](T x) { return num::is_subnormal(x); });
    return nullptr;
  });
}

FB_EXEC(copysign) {
  return by_float(s.inst.type(),
                  []<class T>() { return lanes<T, T, T>([](T a, T b) { return num::copysign(a, b); }); });
}

// Sums, products, quotients

FB_EXEC(add_float) {
  return by_mods(s, []<class T, Mods M>() { return flat_lanes<T, T, T>([](T a, T b) { return num::add<M>(a, b); }); });
}

FB_EXEC(sub_float) {
  return by_mods(s, []<class T, Mods M>() { return flat_lanes<T, T, T>([](T a, T b) { return num::sub<M>(a, b); }); });
}

FB_EXEC(mul_float) {
  return by_mods(s, []<class T, Mods M>() { return flat_lanes<T, T, T>([](T a, T b) { return num::mul<M>(a, b); }); });
}

FB_EXEC(fma_float) {
  return by_mods(
      s, []<class T, Mods M>() { return flat_lanes<T, T, T, T>([](T a, T b, T c) { return num::fma<M>(a, b, c); }); });
}

// Since sm_20 mad is fma, also where the rounding mode is left out (sm_1x, where it was truncated).
FB_EXEC(mad_float) { return select_fma_float(s); }

FB_EXEC(div_float) {
  return by_mods(s, []<class T, Mods M>() { return flat_lanes<T, T, T>([](T a, T b) { return num::div<M>(a, b); }); });
}

FB_EXEC(rcp_float) {
  return by_mods(s, []<class T, Mods M>() { return flat_lanes<T, T>([](T a) { return num::rcp<M>(a); }); });
}

FB_EXEC(sqrt_float) {
  return by_mods(s, []<class T, Mods M>() { return flat_lanes<T, T>([](T a) { return num::sqrt<M>(a); }); });
}

// Pairs of f32

FB_EXEC(add_float_x2) {
  return by_mods_x2(s,
                    []<Mods M>() { return pair_lanes<float, 2>([](float a, float b) { return num::add<M>(a, b); }); });
}

FB_EXEC(sub_float_x2) {
  return by_mods_x2(s,
                    []<Mods M>() { return pair_lanes<float, 2>([](float a, float b) { return num::sub<M>(a, b); }); });
}

FB_EXEC(mul_float_x2) {
  return by_mods_x2(s,
                    []<Mods M>() { return pair_lanes<float, 2>([](float a, float b) { return num::mul<M>(a, b); }); });
}

FB_EXEC(fma_float_x2) {
  return by_mods_x2(
      s, []<Mods M>() { return pair_lanes<float, 3>([](float a, float b, float c) { return num::fma<M>(a, b, c); }); });
}

// Mixed precision: f16 and bf16 are widened, the operation is one of f32

FB_EXEC(add_mixed) {
  return by_mods_mixed(s, []<Mods M, auto Widen>() {
    return flat_lanes<float, uint16_t, float>([](uint16_t a, float c) { return num::add<M>(Widen(a), c); });
  });
}

FB_EXEC(sub_mixed) {
  return by_mods_mixed(s, []<Mods M, auto Widen>() {
    return flat_lanes<float, uint16_t, float>([](uint16_t a, float c) { return num::sub<M>(Widen(a), c); });
  });
}

FB_EXEC(fma_mixed) {
  return by_mods_mixed(s, []<Mods M, auto Widen>() {
    return flat_lanes<float, uint16_t, uint16_t, float>(
        [](uint16_t a, uint16_t b, float c) { return num::fma<M>(Widen(a), Widen(b), c); });
  });
}

// Sign, minimum, maximum

FB_EXEC(abs_float) {
  return by_ftz(s, []<class T, Mods M>() { return lanes<T, T>([](T a) { return num::abs<M>(a); }); });
}

FB_EXEC(neg_float) {
  return by_ftz(s, []<class T, Mods M>() { return lanes<T, T>([](T a) { return num::neg<M>(a); }); });
}

namespace {

using num::MinMaxMods;

template <class F>
Exec by_minmax(const Selection& s, F f) {
  return by_float(s.inst.type(), [&]<class T>() {
    return by_minmax_mods(s.inst, [f]<MinMaxMods M>() -> Exec {
      // f64 has no modifiers.
      if constexpr (sizeof(T) == 8 && (M.ftz || M.nan || M.xorsign_abs))
        return nullptr;
      else
        return f.template operator()<T, M>();
    });
  });
}

// Of three: .abs alone, which compares and returns magnitudes.
template <MinMaxMods M, bool is_max>
float minmax3(float a, float b, float c) {
  constexpr MinMaxMods kPlain{M.ftz, M.nan, false};
  if constexpr (M.xorsign_abs) {
    a = num::abs(a);
    b = num::abs(b);
    c = num::abs(c);
  }
  if constexpr (is_max) return num::max<kPlain>(num::max<kPlain>(a, b), c);
  return num::min<kPlain>(num::min<kPlain>(a, b), c);
}

}  // namespace

FB_EXEC(min_float) {
  return by_minmax(
      s, []<class T, MinMaxMods M>() { return flat_lanes<T, T, T>([](T a, T b) { return num::min<M>(a, b); }); });
}

FB_EXEC(max_float) {
  return by_minmax(
      s, []<class T, MinMaxMods M>() { return flat_lanes<T, T, T>([](T a, T b) { return num::max<M>(a, b); }); });
}

FB_EXEC(min3_float) {
  return by_minmax_mods(s.inst, []<MinMaxMods M>() {
    return flat_lanes<float, float, float, float>([](float a, float b, float c) { return minmax3<M, false>(a, b, c); });
  });
}

FB_EXEC(max3_float) {
  return by_minmax_mods(s.inst, []<MinMaxMods M>() {
    return flat_lanes<float, float, float, float>([](float a, float b, float c) { return minmax3<M, true>(a, b, c); });
  });
}

// Approximations

namespace {

// An f32 function with and without .ftz.
template <class F>
Exec by_ftz_f32(const Selection& s, F f) {
  return s.inst.has(Mod::ftz) ? f.template operator()<Mods{.ftz = true}>() : f.template operator()<num::kRn>();
}

}  // namespace

FB_EXEC(div_approx) {
  return by_ftz_f32(s, []<Mods M>() {
    return flat_lanes<float, float, float>([](float a, float b) { return num::div_approx<M>(a, b); });
  });
}

FB_EXEC(div_full) {
  return by_ftz_f32(s, []<Mods M>() {
    return flat_lanes<float, float, float>([](float a, float b) { return num::div_full<M>(a, b); });
  });
}

FB_EXEC(rcp_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::rcp_approx<M>(a); }); });
}

FB_EXEC(rcp_approx_f64) {
  return flat_lanes<double, double>([](double a) { return num::rcp_approx(a); });
}

FB_EXEC(sqrt_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::sqrt_approx<M>(a); }); });
}

FB_EXEC(rsqrt_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::rsqrt_approx<M>(a); }); });
}

// Only the .ftz form is the coarse one of 20 mantissa bits.
FB_EXEC(rsqrt_approx_f64) {
  if (s.inst.has(Mod::ftz)) return flat_lanes<double, double>([](double a) { return num::rsqrt_approx(a); });
  return flat_lanes<double, double>([](double a) { return num::rcp(num::sqrt(a)); });
}

FB_EXEC(sin_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::sin_approx<M>(a); }); });
}

FB_EXEC(cos_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::cos_approx<M>(a); }); });
}

FB_EXEC(lg2_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::lg2_approx<M>(a); }); });
}

FB_EXEC(ex2_approx) {
  return by_ftz_f32(s,
                    []<Mods M>() { return flat_lanes<float, float>([](float a) { return num::ex2_approx<M>(a); }); });
}

FB_EXEC(tanh_approx) {
  return flat_lanes<float, float>([](float a) { return num::tanh_approx(a); });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
