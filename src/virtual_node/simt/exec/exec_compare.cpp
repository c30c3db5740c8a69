// Comparison and selection: PTX ISA, "Comparison and Selection Instructions" and their half-precision counterparts.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_compare.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

using ptx::Mod;
using ptx::Type;

namespace {

// 32 comparisons to one mask

struct Equal {
  template <class T>
  HWY_INLINE bool scalar(T a, T b) const {
    return a == b;
  }
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  template <class V>
  HWY_INLINE auto vector(V a, V b) const {
    return hwy::HWY_NAMESPACE::Eq(a, b);
  }
#endif
};

struct Less {
  template <class T>
  HWY_INLINE bool scalar(T a, T b) const {
    return a < b;
  }
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  template <class V>
  HWY_INLINE auto vector(V a, V b) const {
    return hwy::HWY_NAMESPACE::Lt(a, b);
  }
#endif
};

struct LessOrEqual {
  template <class T>
  HWY_INLINE bool scalar(T a, T b) const {
    return a <= b;
  }
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  template <class V>
  HWY_INLINE auto vector(V a, V b) const {
    return hwy::HWY_NAMESPACE::Le(a, b);
  }
#endif
};

// Compilers vectorise the comparisons but not the packing of their results into bits.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Eight bytes of 0 or 1 at a time: the multiplication moves them side by side into the top byte.
template <class Relation, class T>
HWY_INLINE Mask relate(const T* a, const T* b) {
  alignas(32) uint8_t holds[kLanes];
  FB_LANE_LOOP
  for (uint32_t l = 0; l < kLanes; ++l) holds[l] = Relation{}.scalar(a[l], b[l]);
  Mask result = 0;
  for (uint32_t l = 0; l < kLanes; l += 8) {
    uint64_t eight = 0;
    for (uint32_t k = 0; k < 8; ++k) eight |= uint64_t{holds[l + k]} << (8 * k);
    result |= static_cast<Mask>(eight * 0x0102040810204080u >> 56) << l;
  }
  return result;
}

#else

template <class Relation, class T>
HWY_INLINE Mask relate(const T* a, const T* b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<T, kLanes> tag;
  constexpr uint32_t kStep = static_cast<uint32_t>(hn::MaxLanes(tag));
  Mask result = 0;
  for (uint32_t l = 0; l < kLanes; l += kStep) {
    const auto holds = Relation{}.vector(hn::LoadU(tag, a + l), hn::LoadU(tag, b + l));
    uint8_t bits[8] = {};
    hn::StoreMaskBits(tag, holds, bits);
    Mask part = 0;
    std::memcpy(&part, bits, sizeof(part));
    result |= part << l;
  }
  return result;
}

#endif

// PTX's comparisons: those of floats that are false for NaN, then those that are true for it.
enum class Test : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

template <Test test, class T>
HWY_INLINE Mask test_rows(const T* a, const T* b) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  switch (test) {
    case Test::eq:
      return relate<Equal>(a, b);
    case Test::ne:
      return kFloat ? relate<Less>(a, b) | relate<Less>(b, a) : ~relate<Equal>(a, b);
    case Test::lt:
      return relate<Less>(a, b);
    case Test::gt:
      return relate<Less>(b, a);
    case Test::leu:
      return ~relate<Less>(b, a);
    case Test::geu:
      return ~relate<Less>(a, b);
    case Test::neu:
      return ~relate<Equal>(a, b);
    case Test::equ:
      return ~(relate<Less>(a, b) | relate<Less>(b, a));
    default:
      break;
  }
  if constexpr (kFloat) {
    switch (test) {
      case Test::le:
        return relate<LessOrEqual>(a, b);
      case Test::ge:
        return relate<LessOrEqual>(b, a);
      case Test::ltu:
        return ~relate<LessOrEqual>(b, a);
      case Test::gtu:
        return ~relate<LessOrEqual>(a, b);
      case Test::num:
        return relate<LessOrEqual>(a, b) | relate<Less>(b, a);
      case Test::nan:
        return ~(relate<LessOrEqual>(a, b) | relate<Less>(b, a));
      default:
        return 0;
    }
  } else {
    return test == Test::le ? ~relate<Less>(b, a) : ~relate<Less>(a, b);
  }
}

// What is compared: a row as it is, or as floats made of it.

template <class T>
struct Plain {
  using Element = T;
};

struct FlushedF32 {
  using Element = float;
  static float widen(float x) { return num::flush(x); }
};

struct F16 {
  using Element = uint16_t;
  static float widen(uint16_t x) { return num::f16_to_f32(x); }
};

struct FlushedF16 {
  using Element = uint16_t;
  static float widen(uint16_t x) { return num::f16_to_f32((x & 0x7c00) == 0 ? static_cast<uint16_t>(x & 0x8000) : x); }
};

struct Bf16 {
  using Element = uint16_t;
  static float widen(uint16_t x) { return num::bf16_to_f32(x); }
};

template <class Half, bool upper>
struct OfPair {
  using Element = uint32_t;
  static float widen(uint32_t x) { return Half::widen(upper ? num::upper_half(x) : num::lower_half(x)); }
};

// Not inlined: there are hundreds of spellings, and most are rare.
template <Test test, class T>
HWY_NOINLINE Mask test_rows_shared(const T* a, const T* b) {
  return test_rows<test>(a, b);
}

template <class Source>
HWY_NOINLINE void widen_row(const typename Source::Element* row, float* to) {
  map_lanes(kAllLanes, to, [](typename Source::Element x) { return Source::widen(x); }, row);
}

template <Test test, class T>
HWY_INLINE Mask compare_as(Plain<T>, const T* a, const T* b) {
  return test_rows_shared<test>(a, b);
}

template <Test test, class Source, class T>
HWY_INLINE Mask compare_as(Source, const T* a, const T* b) {
  alignas(64) float x[kLanes];
  alignas(64) float y[kLanes];
  widen_row<Source>(a, x);
  widen_row<Source>(b, y);
  return test_rows_shared<test>(x, y);
}

// Operands k and k + 1 of an instruction.
using Compare = Mask (*)(const Warp& w, const Inst& i, int k);

template <class Source, Test test>
Mask compare(const Warp& w, const Inst& i, int k) {
  using T = typename Source::Element;
  return compare_as<test>(Source{}, w.src<T>(i.op[k]), w.src<T>(i.op[k + 1]));
}

// From words to functions. Each calls f.operator()<…>() or returns null.

template <class F>
auto by_float_test(const ptx::Instruction& inst, F f) -> decltype(f.template operator()<Test::eq>()) {
  if (inst.has(Mod::eq)) return f.template operator()<Test::eq>();
  if (inst.has(Mod::ne)) return f.template operator()<Test::ne>();
  if (inst.has(Mod::lt)) return f.template operator()<Test::lt>();
  if (inst.has(Mod::le)) return f.template operator()<Test::le>();
  if (inst.has(Mod::gt)) return f.template operator()<Test::gt>();
  if (inst.has(Mod::ge)) return f.template operator()<Test::ge>();
  if (inst.has(Mod::equ)) return f.template operator()<Test::equ>();
  if (inst.has(Mod::neu)) return f.template operator()<Test::neu>();
  if (inst.has(Mod::ltu)) return f.template operator()<Test::ltu>();
  if (inst.has(Mod::leu)) return f.template operator()<Test::leu>();
  if (inst.has(Mod::gtu)) return f.template operator()<Test::gtu>();
  if (inst.has(Mod::geu)) return f.template operator()<Test::geu>();
  if (inst.has(Mod::num)) return f.template operator()<Test::num>();
  if (inst.has(Mod::nan)) return f.template operator()<Test::nan>();
  return nullptr;
}

template <Test test, class F>
auto by_order_type(Type type, F f) {
  return by_type<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(
      type, [&]<class T>() { return f.template operator()<Plain<T>, test>(); });
}

template <Test test, class F>
auto by_equality_width(Type type, F f) {
  return by_bits(type, [&]<class T>() { return f.template operator()<Plain<T>, test>(); });
}

template <class F>
auto by_int_comparison(const ptx::Instruction& inst, Type type, F f)
    -> decltype(f.template operator()<Plain<uint32_t>, Test::eq>()) {
  if (inst.has(Mod::eq)) return by_equality_width<Test::eq>(type, f);
  if (inst.has(Mod::ne)) return by_equality_width<Test::ne>(type, f);
  // lo, ls, hi, hs: lt, le, gt, ge, for unsigned types only.
  const bool is_unsigned = ptx::kind_of(type) == ptx::TypeKind::unsigned_int;
  if (inst.has(Mod::lt) || (is_unsigned && inst.has(Mod::lo))) return by_order_type<Test::lt>(type, f);
  if (inst.has(Mod::le) || (is_unsigned && inst.has(Mod::ls))) return by_order_type<Test::le>(type, f);
  if (inst.has(Mod::gt) || (is_unsigned && inst.has(Mod::hi))) return by_order_type<Test::gt>(type, f);
  if (inst.has(Mod::ge) || (is_unsigned && inst.has(Mod::hs))) return by_order_type<Test::ge>(type, f);
  return nullptr;
}

// ftz: f64 and bf16 have none.
template <class F>
auto by_comparison(const ptx::Instruction& inst, Type type, F f)
    -> decltype(f.template operator()<Plain<uint32_t>, Test::eq>()) {
  const bool ftz = inst.has(Mod::ftz);
  const auto floats = [&]<class Source>() {
    return by_float_test(inst, [&]<Test test>() { return f.template operator()<Source, test>(); });
  };
  switch (type) {
    case Type::f32:
      return ftz ? floats.template operator()<FlushedF32>() : floats.template operator()<Plain<float>>();
    case Type::f64:
      return ftz ? nullptr : floats.template operator()<Plain<double>>();
    case Type::f16:
      return ftz ? floats.template operator()<FlushedF16>() : floats.template operator()<F16>();
    case Type::bf16:
      return ftz ? nullptr : floats.template operator()<Bf16>();
    default:
      return by_int_comparison(inst, type, f);
  }
}

Compare find_compare(const ptx::Instruction& inst, Type type) {
  return by_comparison(inst, type, []<class Source, Test test>() -> Compare { return &compare<Source, test>; });
}

// The lower or the upper halves of pairs.
template <bool upper>
Compare find_pair_compare(const ptx::Instruction& inst, Type type) {
  const bool ftz = inst.has(Mod::ftz);
  return by_float_test(inst, [&]<Test test>() -> Compare {
    if (type == Type::bf16x2) return ftz ? nullptr : &compare<OfPair<Bf16, upper>, test>;
    return ftz ? &compare<OfPair<FlushedF16, upper>, test> : &compare<OfPair<F16, upper>, test>;
  });
}

bool is_pair(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

// Rare spellings (set, and setp with .and, .or, .xor or a second predicate, which compilers hardly write) are
// interpreted from their words: as templates they would be thousands of functions.

const ptx::Instruction& words_of(const Warp& w, const Inst& i) {
  const Program& program = *w.block().grid().program;
  const Origin& origin = program.origins[i.origin];
  return program.module->functions[origin.function].body[origin.index];
}

// `holds` .and, .or, .xor the predicate operand k.
Mask combine(const Warp& w, const Inst& i, const ptx::Instruction& words, Mask holds, int k) {
  if (words.has(Mod::and_)) return holds & w.predicate(i, k);
  if (words.has(Mod::or_)) return holds | w.predicate(i, k);
  if (words.has(Mod::xor_)) return holds ^ w.predicate(i, k);
  return holds;
}

// setp

// By far the most frequent: nothing to convert, nothing to combine, everything in one function.
template <class T, Test test>
const Inst* run_setp(Warp& w, const Inst& i) {
  w.set_predicate(i.op[0], test_rows<test>(w.src<T>(i.op[2]), w.src<T>(i.op[3])));
  return &i + 1;
}

template <class Source, Test test>
const Inst* run_setp_widened(Warp& w, const Inst& i) {
  w.set_predicate(i.op[0], compare<Source, test>(w, i, 2));
  return &i + 1;
}

// q gets the opposite of the comparison, combined alike.
const Inst* run_setp_words(Warp& w, const Inst& i) {
  const ptx::Instruction& words = words_of(w, i);
  const Mask holds = find_compare(words, words.type())(w, i, 2);
  const Mask p = combine(w, i, words, holds, 4);
  const Mask q = combine(w, i, words, ~holds, 4);
  w.set_predicate(i.op[0], p);
  if (i.op[1] != kAbsent) w.set_predicate(i.op[1], q);
  return &i + 1;
}

// p for the lower halves, q for the upper.
const Inst* run_setp_pair(Warp& w, const Inst& i) {
  const ptx::Instruction& words = words_of(w, i);
  const Mask p = combine(w, i, words, find_pair_compare<false>(words, words.type())(w, i, 2), 4);
  const Mask q = combine(w, i, words, find_pair_compare<true>(words, words.type())(w, i, 2), 4);
  w.set_predicate(i.op[0], p);
  w.set_predicate(i.op[1], q);
  return &i + 1;
}

Exec select_setp(const ptx::Instruction& inst) {
  const bool has_bool = inst.has(Mod::and_) || inst.has(Mod::or_) || inst.has(Mod::xor_);
  if (has_bool || inst.operands[1].kind != ptx::OperandKind::none) {
    return find_compare(inst, inst.type()) ? &run_setp_words : nullptr;
  }
  return by_comparison(inst, inst.type(), []<class Source, Test test>() -> Exec {
    if constexpr (requires { &Source::widen; }) {
      return &run_setp_widened<Source, test>;
    } else {
      return &run_setp<typename Source::Element, test>;
    }
  });
}

}  // namespace

FB_EXEC(setp_int) { return select_setp(s.inst); }
FB_EXEC(setp_float) { return select_setp(s.inst); }
FB_EXEC(setp_half) { return select_setp(s.inst); }
FB_EXEC(setp_half_x2) { return find_pair_compare<false>(s.inst, s.inst.type()) ? &run_setp_pair : nullptr; }

// set: the comparison's truth as a value

namespace {

template <class T>
void write_truth(Warp& w, const Inst& i, Mask holds, T truth) {
  T* d = w.row<T>(i.op[0]);
  each_lane(w.exec, [&](uint32_t l) { d[l] = lane_in(holds, l) ? truth : T{0}; });
}

// True is all ones, or 1.0.
const Inst* run_set(Warp& w, const Inst& i) {
  const ptx::Instruction& words = words_of(w, i);
  const Mask holds = combine(w, i, words, find_compare(words, words.type(1))(w, i, 1), 3);
  switch (words.type(0)) {
    case Type::f32:
      write_truth<uint32_t>(w, i, holds, 0x3f80'0000);
      break;
    case Type::f16:
      write_truth<uint16_t>(w, i, holds, 0x3c00);
      break;
    case Type::bf16:
      write_truth<uint16_t>(w, i, holds, 0x3f80);
      break;
    case Type::u16:
    case Type::s16:
      write_truth<uint16_t>(w, i, holds, 0xffff);
      break;
    default:
      write_truth<uint32_t>(w, i, holds, 0xffff'ffff);
      break;
  }
  return &i + 1;
}

const Inst* run_set_pair(Warp& w, const Inst& i) {
  const ptx::Instruction& words = words_of(w, i);
  const Mask lower = combine(w, i, words, find_pair_compare<false>(words, words.type(1))(w, i, 1), 3);
  const Mask upper = combine(w, i, words, find_pair_compare<true>(words, words.type(1))(w, i, 1), 3);
  const Type to = words.type(0);
  const uint16_t truth = to == Type::f16x2 ? 0x3c00 : to == Type::bf16x2 ? 0x3f80 : 0xffff;
  uint32_t* d = w.row<uint32_t>(i.op[0]);
  each_lane(w.exec, [&](uint32_t l) {
    d[l] = num::pack_halves(lane_in(upper, l) ? truth : uint16_t{0}, lane_in(lower, l) ? truth : uint16_t{0});
  });
  return &i + 1;
}

}  // namespace

FB_EXEC(set_int) { return find_compare(s.inst, s.inst.type(1)) ? &run_set : nullptr; }
FB_EXEC(set_float) { return find_compare(s.inst, s.inst.type(1)) ? &run_set : nullptr; }

FB_EXEC(set_half) {
  const Type to = s.inst.type(0), from = s.inst.type(1);
  if (is_pair(from)) {
    if (!is_pair(to) && to != Type::u32 && to != Type::s32) return nullptr;
    return find_pair_compare<false>(s.inst, from) ? &run_set_pair : nullptr;
  }
  return !is_pair(to) && find_compare(s.inst, from) ? &run_set : nullptr;
}

// Selection

namespace {

template <class T>
const Inst* run_selp(Warp& w, const Inst& i) {
  T* d = w.row<T>(i.op[0]);
  const T* a = w.src<T>(i.op[1]);
  const T* b = w.src<T>(i.op[2]);
  const Mask condition = w.predicate(i, 3);
  if (w.exec == kAllLanes) [[likely]] {
    blend(condition, d, a, b);
  } else {
    alignas(64) T chosen[kLanes];
    blend(condition, chosen, a, b);
    blend(w.exec, d, chosen, d);
  }
  return &i + 1;
}

}  // namespace

FB_EXEC(selp) {
  return by_bits(s.inst.type(), []<class T>() -> Exec { return &run_selp<T>; });
}

FB_EXEC(slct_int) {
  return by_bits(s.inst.type(),
                 []<class T>() { return lanes<T, T, T, int32_t>([](T a, T b, int32_t c) { return c >= 0 ? a : b; }); });
}

// -0 counts as not negative; NaN selects b. So does a flushed negative subnormal count as -0.
FB_EXEC(slct_float) {
  const bool ftz = s.inst.has(Mod::ftz);
  return by_bits(s.inst.type(), [&]<class T>() {
    return ftz ? lanes<T, T, T, float>([](T a, T b, float c) { return num::flush(c) >= 0 ? a : b; })
               : lanes<T, T, T, float>([](T a, T b, float c) { return c >= 0 ? a : b; });
  });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
