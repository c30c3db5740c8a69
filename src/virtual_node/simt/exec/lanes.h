// The loops over 32 lanes that instructions are made of. Included once per SIMD target by every exec_*.cpp, inside
// hwy/foreach_target.h: plain loops which the compiler vectorises for the target at hand.
//
//   FB_EXEC(and_) {
//     return by_bits(s.inst.type(), []<class T>() { return lanes<T, T, T>([](T a, T b) { return T(a & b); }); });
//   }

#if defined(FB_SIMT_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FB_SIMT_LANES_H_
#undef FB_SIMT_LANES_H_
#else
#define FB_SIMT_LANES_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "virtual_node/simt/exec/lane_loop.h"
#include "virtual_node/simt/exec/select.h"
#include "virtual_node/simt/warp.h"

#ifndef FB_EXEC
#define FB_EXEC(form) Exec select_##form([[maybe_unused]] const Selection& s)
#endif

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

inline bool lane_in(Mask mask, uint32_t lane) { return (mask >> lane & 1) != 0; }

// d[l] = lane l is in the mask ? a[l] : b[l]. By hand: compilers do not turn mask bits into vector masks.
template <class T>
HWY_INLINE void blend(Mask mask, T* d, const T* a, const T* b) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (uint32_t l = 0; l < kLanes; ++l) d[l] = lane_in(mask, l) ? a[l] : b[l];
#else
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<T, kLanes> tag;
  constexpr uint32_t kStep = static_cast<uint32_t>(hn::MaxLanes(tag));
  for (uint32_t l = 0; l < kLanes; l += kStep) {
    const uint64_t part = mask >> l;
    uint8_t bits[8];
    std::memcpy(bits, &part, sizeof(part));
    const auto chosen = hn::LoadMaskBits(tag, bits);
    hn::StoreU(hn::IfThenElse(chosen, hn::LoadU(tag, a + l), hn::LoadU(tag, b + l)), tag, d + l);
  }
#endif
}

// d[l] = f(s[l]…) for the executing lanes.
template <class D, class F, class... S>
HWY_INLINE void map_lanes(Mask exec, D* d, F f, const S*... src) {
  if (exec == kAllLanes) [[likely]] {
    FB_LANE_LOOP
    for (uint32_t l = 0; l < kLanes; ++l) d[l] = f(src[l]...);
    return;
  }
  alignas(64) D result[kLanes];
  FB_LANE_LOOP
  for (uint32_t l = 0; l < kLanes; ++l) result[l] = f(src[l]...);
  if constexpr (std::is_arithmetic_v<D>) {
    blend(exec, d, result, d);
  } else {
    for (uint32_t l = 0; l < kLanes; ++l) d[l] = lane_in(exec, l) ? result[l] : d[l];
  }
}

template <class F, class D, class... S>
[[gnu::flatten]] const Inst* run_lanes(Warp& w, const Inst& i) {
  [&]<size_t... K>(std::index_sequence<K...>) HWY_ATTR {
    map_lanes<D>(w.exec, w.row<D>(i.op[0]), F{}, w.src<S>(i.op[K + 1])...);
  }(std::index_sequence_for<S...>{});
  return &i + 1;
}

// The instruction d = f(a, b, …) whose operands are 1 … n in the form's syntax: types of d, a, b, ….
// (A function, not a lambda's conversion to a pointer: that one is compiled for the baseline and costs a jump.)
template <class D, class... S, class F>
Exec lanes(F) {
  static_assert(std::is_empty_v<F>, "an instruction keeps no state");
  return &run_lanes<F, D, S...>;
}

// A predicate p = f(a, b).
template <class T, class F>
HWY_INLINE Mask test_lanes(F f, const T* a, const T* b) {
  Mask result = 0;
  for (uint32_t l = 0; l < kLanes; ++l) result |= Mask{f(a[l], b[l])} << l;
  return result;
}

// As virtual_node/simt/mask.h's, compiled for this SIMD target: a function of the baseline can't inline the lambdas of
// a target.
template <class F>
HWY_INLINE void each_lane(Mask exec, F f) {
  for (Mask m = exec; m != 0; m &= m - 1) f(static_cast<uint32_t>(std::countr_zero(m)));
}

// T holds values of the PTX type; bits are unsigned integers.
template <class T>
bool holds(ptx::Type type) {
  if (ptx::bits_of(type) != 8 * sizeof(T)) return false;
  const auto kind = ptx::kind_of(type);
  if constexpr (std::is_floating_point_v<T>) return kind == ptx::TypeKind::floating;
  if constexpr (std::is_signed_v<T>) return kind == ptx::TypeKind::signed_int;
  return kind == ptx::TypeKind::unsigned_int || kind == ptx::TypeKind::bits;
}

// f.operator()<T>() with the type of the list that holds values of the PTX type; null if there is none.
template <class T, class... Rest, class F>
auto by_type(ptx::Type type, F f) -> decltype(f.template operator()<T>()) {
  if (holds<T>(type)) return f.template operator()<T>();
  if constexpr (sizeof...(Rest) > 0) return by_type<Rest...>(type, f);
  return nullptr;
}

// The same, by width alone.
template <class T, class... Rest, class F>
auto by_width(ptx::Type type, F f) -> decltype(f.template operator()<T>()) {
  if (ptx::bits_of(type) == 8 * sizeof(T)) return f.template operator()<T>();
  if constexpr (sizeof...(Rest) > 0) return by_width<Rest...>(type, f);
  return nullptr;
}

template <class F>
auto by_float(ptx::Type type, F f) {
  return by_type<float, double>(type, f);
}

template <class F>
auto by_bits(ptx::Type type, F f) {
  return by_width<uint16_t, uint32_t, uint64_t>(type, f);
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
