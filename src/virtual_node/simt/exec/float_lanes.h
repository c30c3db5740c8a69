// What the floating-point files share: lane loops over long functions and over pairs, and the way from the modifiers
// of an instruction to num::Mods as a template argument. Included once per SIMD target, like lanes.h.

#if defined(FB_SIMT_FLOAT_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FB_SIMT_FLOAT_LANES_H_
#undef FB_SIMT_FLOAT_LANES_H_
#else
#define FB_SIMT_FLOAT_LANES_H_
#endif

#include "virtual_node/num/float_format.h"
#include "virtual_node/num/minmax.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

// Everything inside is inlined: one call left in a lane loop, and it does not vectorise.
template <class F, class D, class... S>
[[gnu::flatten]] const Inst* run_flat(Warp& w, const Inst& i) {
  [&]<size_t... K>(std::index_sequence<K...>) HWY_ATTR {
    map_lanes<D>(w.exec, w.row<D>(i.op[0]), F{}, w.src<S>(i.op[K + 1])...);
  }(std::index_sequence_for<S...>{});
  return &i + 1;
}

// As lanes<D, S…>(f), for functions too long for the compiler's own taste.
template <class D, class... S, class F>
Exec flat_lanes(F) {
  static_assert(std::is_empty_v<F>, "an instruction keeps no state");
  return &run_flat<F, D, S...>;
}

// d[e] = f(s[e]…) for both elements of each executing lane.
template <class T, class F, class... S>
HWY_INLINE void map_pairs(Mask exec, T* d, F f, const S*... src) {
  if (exec == kAllLanes) [[likely]] {
    FB_LANE_LOOP
    for (uint32_t e = 0; e < 2 * kLanes; ++e) d[e] = f(src[e]...);
  } else {
    FB_LANE_LOOP
    for (uint32_t e = 0; e < 2 * kLanes; ++e) {
      const T value = f(src[e]...);
      d[e] = lane_in(exec, e / 2) ? value : d[e];
    }
  }
}

template <class F, class T, size_t Sources>
[[gnu::flatten]] const Inst* run_pairs(Warp& w, const Inst& i) {
  [&]<size_t... K>(std::index_sequence<K...>) HWY_ATTR {
    map_pairs<T>(w.exec, w.row<T>(i.op[0]), F{}, w.src<T>(i.op[K + 1])...);
  }(std::make_index_sequence<Sources>{});
  return &i + 1;
}

// The instruction on packed pairs (f16x2, f32x2) whose halves are T: the same f for both.
template <class T, size_t Sources, class F>
Exec pair_lanes(F) {
  static_assert(std::is_empty_v<F>, "an instruction keeps no state");
  return &run_pairs<F, T, Sources>;
}

inline num::Rounding rounding_of(const ptx::Instruction& inst) {
  using ptx::Mod;
  if (inst.has(Mod::rz) || inst.has(Mod::rzi)) return num::Rounding::rz;
  if (inst.has(Mod::rm) || inst.has(Mod::rmi)) return num::Rounding::rm;
  if (inst.has(Mod::rp) || inst.has(Mod::rpi)) return num::Rounding::rp;
  if (inst.has(Mod::rna)) return num::Rounding::rna;
  return num::Rounding::rn;  // the default everywhere
}

inline num::Mods mods_of(const ptx::Instruction& inst) {
  using ptx::Mod;
  return {.rounding = rounding_of(inst),
          .ftz = inst.has(Mod::ftz),
          .sat = inst.has(Mod::sat),
          .relu = inst.has(Mod::relu),
          .satfinite = inst.has(Mod::satfinite)};
}

// Calls f.operator()<choice>() for the choice that equals `wanted`; null when there is none.
template <auto... Choices, class T, class F>
Exec by_choice(T wanted, F f) {
  Exec chosen = nullptr;
  static_cast<void>(((wanted == Choices && (chosen = f.template operator()<Choices>(), true)) || ...));
  return chosen;
}

// By the rounding mode, the other modifiers given.
template <num::Mods Others, class F>
Exec by_rounding(num::Rounding wanted, F f) {
  using num::Rounding;
  return by_choice<Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp>(wanted, [f]<Rounding R>() {
    constexpr num::Mods kMods{R, Others.ftz, Others.sat, Others.relu, Others.satfinite};
    return f.template operator()<kMods>();
  });
}

// By the modifiers of min and max; .abs stands for .xorsign.abs here.
template <class F>
Exec by_minmax_mods(const ptx::Instruction& inst, F f) {
  const bool ftz = inst.has(ptx::Mod::ftz), nan = inst.has(ptx::Mod::NaN), abs = inst.has(ptx::Mod::abs);
  return by_choice<0, 1, 2, 3, 4, 5, 6, 7>((ftz ? 4 : 0) | (nan ? 2 : 0) | (abs ? 1 : 0), [f]<int N>() {
    constexpr num::MinMaxMods kMods{(N & 4) != 0, (N & 2) != 0, (N & 1) != 0};
    return f.template operator()<kMods>();
  });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
