// Half precision, f16 and bf16, alone and in pairs: PTX ISA, "Half Precision Floating Point Instructions".

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_half.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/half_arith.h"
#include "virtual_node/num/minmax.h"
#include "virtual_node/simt/exec/float_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

using num::MinMaxMods;
using num::Mods;
using ptx::Mod;
using ptx::Type;

inline constexpr Mods kFtz{.ftz = true};
inline constexpr Mods kSat{.sat = true};
inline constexpr Mods kFtzSat{.ftz = true, .sat = true};
inline constexpr Mods kRelu{.relu = true};
inline constexpr Mods kFtzRelu{.ftz = true, .relu = true};

bool is_f16(Type type) { return type == Type::f16 || type == Type::f16x2; }
bool is_pair(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

// An operation on 16-bit codes, for one value or two in a register. A stateless type and not a lambda at each use: the
// file instantiates it often.
template <auto Operation>
struct Halves {
  template <class... Codes>
  HWY_INLINE uint16_t operator()(Codes... codes) const {
    return Operation(codes...);
  }
};

template <auto Operation>
Exec unary(Type type) {
  return is_pair(type) ? pair_lanes<uint16_t, 1>(Halves<Operation>{})
                       : flat_lanes<uint16_t, uint16_t>(Halves<Operation>{});
}

template <auto Operation>
Exec binary(Type type) {
  return is_pair(type) ? pair_lanes<uint16_t, 2>(Halves<Operation>{})
                       : flat_lanes<uint16_t, uint16_t, uint16_t>(Halves<Operation>{});
}

template <auto Operation>
Exec ternary(Type type) {
  return is_pair(type) ? pair_lanes<uint16_t, 3>(Halves<Operation>{})
                       : flat_lanes<uint16_t, uint16_t, uint16_t, uint16_t>(Halves<Operation>{});
}

// .ftz exists for f16 only.
uint16_t flushed_abs_f16(uint16_t x) { return num::abs_f16(num::detail::flush_f16<kFtz>(x)); }
uint16_t flushed_neg_f16(uint16_t x) { return num::neg_f16(num::detail::flush_f16<kFtz>(x)); }

}  // namespace

FB_EXEC(add_half) {
  const Type type = s.inst.type();
  const Mods mods = mods_of(s.inst);
  if (!is_f16(type)) return mods == num::kRn ? binary<num::add_bf16<num::kRn>>(type) : nullptr;
  return by_choice<num::kRn, kFtz, kSat, kFtzSat>(mods, [type]<Mods M>() { return binary<num::add_f16<M>>(type); });
}

FB_EXEC(sub_half) {
  const Type type = s.inst.type();
  const Mods mods = mods_of(s.inst);
  if (!is_f16(type)) return mods == num::kRn ? binary<num::sub_bf16<num::kRn>>(type) : nullptr;
  return by_choice<num::kRn, kFtz, kSat, kFtzSat>(mods, [type]<Mods M>() { return binary<num::sub_f16<M>>(type); });
}

FB_EXEC(mul_half) {
  const Type type = s.inst.type();
  const Mods mods = mods_of(s.inst);
  if (!is_f16(type)) return mods == num::kRn ? binary<num::mul_bf16<num::kRn>>(type) : nullptr;
  return by_choice<num::kRn, kFtz, kSat, kFtzSat>(mods, [type]<Mods M>() { return binary<num::mul_f16<M>>(type); });
}

// .oob asks which code the out-of-bounds NaN of a tensor copy has, which the manual does not say.
FB_EXEC(fma_half) {
  const Type type = s.inst.type();
  const Mods mods = mods_of(s.inst);
  if (s.inst.has(Mod::oob)) return nullptr;
  if (!is_f16(type)) {
    return by_choice<num::kRn, kRelu>(mods, [type]<Mods M>() { return ternary<num::fma_bf16<M>>(type); });
  }
  return by_choice<num::kRn, kFtz, kSat, kFtzSat, kRelu, kFtzRelu>(
      mods, [type]<Mods M>() { return ternary<num::fma_f16<M>>(type); });
}

FB_EXEC(abs_half) {
  const Type type = s.inst.type();
  const bool ftz = s.inst.has(Mod::ftz);
  if (!is_f16(type)) return ftz ? nullptr : unary<num::abs_bf16>(type);
  return ftz ? unary<flushed_abs_f16>(type) : unary<num::abs_f16>(type);
}

FB_EXEC(neg_half) {
  const Type type = s.inst.type();
  const bool ftz = s.inst.has(Mod::ftz);
  if (!is_f16(type)) return ftz ? nullptr : unary<num::neg_bf16>(type);
  return ftz ? unary<flushed_neg_f16>(type) : unary<num::neg_f16>(type);
}

FB_EXEC(min_half) {
  const Type type = s.inst.type();
  if (is_f16(type)) {
    return by_minmax_mods(s.inst, [type]<MinMaxMods M>() { return binary<num::min_f16<M>>(type); });
  }
  return by_minmax_mods(s.inst, [type]<MinMaxMods M>() { return M.ftz ? nullptr : binary<num::min_bf16<M>>(type); });
}

FB_EXEC(max_half) {
  const Type type = s.inst.type();
  if (is_f16(type)) {
    return by_minmax_mods(s.inst, [type]<MinMaxMods M>() { return binary<num::max_f16<M>>(type); });
  }
  return by_minmax_mods(s.inst, [type]<MinMaxMods M>() { return M.ftz ? nullptr : binary<num::max_bf16<M>>(type); });
}

FB_EXEC(tanh_half) {
  const Type type = s.inst.type();
  return is_f16(type) ? unary<num::tanh_f16>(type) : unary<num::tanh_bf16>(type);
}

// bf16 has only the .ftz form.
FB_EXEC(ex2_half) {
  const Type type = s.inst.type();
  const bool ftz = s.inst.has(Mod::ftz);
  if (!is_f16(type)) return ftz ? unary<num::ex2_bf16>(type) : nullptr;
  return ftz ? unary<num::ex2_f16<kFtz>>(type) : unary<num::ex2_f16<num::kRn>>(type);
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
