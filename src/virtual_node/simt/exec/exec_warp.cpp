// Instructions among the lanes of a warp: shfl, vote, match, redux, elect, activemask.
//
// A .sync instruction waits until every lane that its mask names has come to it with the same mask (PTX ISA: "all
// non-exited threads corresponding to membermask"). Lanes of one warp may name several sets at once, as the tiles of
// cooperative groups do: each set that is complete goes on, the others wait.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_warp.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/integer.h"
#include "virtual_node/num/minmax.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

// Coming together

HWY_INLINE uint32_t first_lane(Mask lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

// The executing lanes whose element equals `value`.
template <class T>
HWY_INLINE Mask lanes_equal(Mask exec, const T* row, T value) {
  Mask equal = 0;
  for (uint32_t l = 0; l < kLanes; ++l) equal |= Mask{row[l] == value} << l;
  return equal & exec;
}

// Lanes that give different masks: runs the instruction for each set that is complete, lets the others wait.
template <class Op>
const Inst* run_sets(Warp& w, const Inst& i, const Mask* masks) {
  const Mask here = w.exec;
  Mask waiting = 0, wanted = 0;
  for (Mask left = here; left != 0;) {
    const Mask mask = masks[first_lane(left)];
    const Mask set = lanes_equal(left, masks, mask);
    const Mask members = mask & w.present() & ~w.exited();
    left &= ~set;
    w.exec = set;
    if (members == set) {
      Op::run(w, i);
    } else if ((set & ~members) != 0) {
      const Inst* never;
      w.gather(i, members, never);  // traps: a lane outside its own mask
    } else {
      waiting |= set;
      wanted |= members;
    }
  }
  if (waiting == 0) return &i + 1;
  w.exec = waiting;
  const Inst* next = nullptr;
  if (w.gather(i, wanted, next)) {
    w.trap(TrapKind::invalid_operand, i, first_lane(waiting),
           "the lanes that this mask names are here, but they name other masks: none of them can go on");
  }
  return next;
}

// The .sync instruction whose mask is operand kMask; Op::run(w, i) does it for w.exec, which is then the whole set.
template <class Op, int kMask>
const Inst* run_together(Warp& w, const Inst& i) {
  const auto* masks = w.src<Mask>(i.op[kMask]);
  const Mask mask = masks[first_lane(w.exec)];
  const bool literal = i.op[kMask] < 0;
  if (!literal && lanes_equal(w.exec, masks, mask) != w.exec) return run_sets<Op>(w, i, masks);
  const Mask members = mask & w.present() & ~w.exited();
  if (members != w.exec) [[unlikely]] {
    const Inst* next = nullptr;
    if (!w.gather(i, members, next)) return next;
  }
  Op::run(w, i);
  return &i + 1;
}

HWY_INLINE void write_all(Warp& w, int32_t row, uint32_t value) {
  map_lanes<uint32_t>(w.exec, w.row<uint32_t>(row), [value](uint32_t) { return value; }, w.src<uint32_t>(row));
}

// shfl

enum class Shuffle : uint8_t { up, down, bfly, idx };

// Where lane `lane` reads, before the check against its bound: PTX ISA, shfl.sync, "Semantics".
template <Shuffle kMode>
HWY_INLINE int32_t shuffle_source(int32_t lane, int32_t b, int32_t segment) {
  if constexpr (kMode == Shuffle::up) return lane - b;
  if constexpr (kMode == Shuffle::down) return lane + b;
  if constexpr (kMode == Shuffle::bfly) return lane ^ b;
  return (lane & segment) | (b & ~segment);
}

template <uint32_t kDistance>
HWY_INLINE void butterfly(uint32_t* d, const uint32_t* a) {
  alignas(64) uint32_t copy[kLanes];
  std::memcpy(copy, a, sizeof copy);
  for (uint32_t l = 0; l < kLanes; ++l) d[l] = copy[l ^ kDistance];
}

// The steps of a reduction over a whole warp, by far the most frequent shuffles: fixed permutations.
HWY_INLINE bool run_butterfly(uint32_t* d, const uint32_t* a, uint32_t distance) {
  switch (distance) {
    case 1:
      butterfly<1>(d, a);
      return true;
    case 2:
      butterfly<2>(d, a);
      return true;
    case 4:
      butterfly<4>(d, a);
      return true;
    case 8:
      butterfly<8>(d, a);
      return true;
    case 16:
      butterfly<16>(d, a);
      return true;
    default:
      return false;
  }
}

// shfl.sync d|p, a, b, c, mask. A source lane outside the set is undefined in PTX; here the lane keeps its own value,
// so that a run never depends on what an idle register holds.
template <Shuffle kMode>
struct Shfl {
  static void run(Warp& w, const Inst& i) {
    const auto* a = w.src<uint32_t>(i.op[2]);
    const auto* b = w.src<uint32_t>(i.op[3]);
    const auto* c = w.src<uint32_t>(i.op[4]);
    auto* d = w.row<uint32_t>(i.op[0]);
    if constexpr (kMode == Shuffle::bfly) {
      const bool whole_warp = w.exec == kAllLanes && i.op[3] < 0 && i.op[4] < 0 && (c[0] & 0x1f1f) == 0x1f;
      if (whole_warp && run_butterfly(d, a, b[0])) {
        if (i.op[1] != kAbsent) w.set_predicate(i.op[1], kAllLanes);
        return;
      }
    }
    alignas(64) uint32_t values[kLanes];
    alignas(64) int32_t source[kLanes];
    std::memcpy(values, a, sizeof values);
    Mask in_range = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const auto lane = static_cast<int32_t>(l);
      const auto clamp = static_cast<int32_t>(c[l] & 31), segment = static_cast<int32_t>(c[l] >> 8 & 31);
      const int32_t bound = (lane & segment) | (clamp & ~segment);
      const int32_t j = shuffle_source<kMode>(lane, static_cast<int32_t>(b[l] & 31), segment);
      const bool inside = kMode == Shuffle::up ? j >= bound : j <= bound;
      in_range |= Mask{inside} << l;
      source[l] = inside && lane_in(w.exec, static_cast<uint32_t>(j) & 31) ? j & 31 : lane;
    }
    for (uint32_t l = 0; l < kLanes; ++l) source[l] = static_cast<int32_t>(values[source[l]]);
    map_lanes<uint32_t>(w.exec, d, [](int32_t v) { return static_cast<uint32_t>(v); }, source);
    if (i.op[1] != kAbsent) w.set_predicate(i.op[1], in_range);
  }
};

// vote

enum class Vote : uint8_t { all, any, uni };

template <Vote kMode>
struct VoteOf {
  static void run(Warp& w, const Inst& i) {
    const Mask yes = w.predicate(i, 1) & w.exec;
    const bool result = kMode == Vote::all ? yes == w.exec : kMode == Vote::any ? yes != 0 : yes == w.exec || yes == 0;
    w.set_predicate(i.op[0], result ? kAllLanes : 0);
  }
};

struct Ballot {
  static void run(Warp& w, const Inst& i) { write_all(w, i.op[0], w.predicate(i, 1) & w.exec); }
};

// match

template <class T>
struct MatchAny {
  static void run(Warp& w, const Inst& i) {
    alignas(64) T values[kLanes];
    std::memcpy(values, w.src<T>(i.op[1]), sizeof values);
    auto* d = w.row<uint32_t>(i.op[0]);
    for (Mask left = w.exec; left != 0;) {
      const Mask same = lanes_equal(left, values, values[first_lane(left)]);
      each_lane(same, [&](uint32_t l) { d[l] = same; });
      left &= ~same;
    }
  }
};

template <class T>
struct MatchAll {
  static void run(Warp& w, const Inst& i) {
    const auto* values = w.src<T>(i.op[2]);
    const bool same = lanes_equal(w.exec, values, values[first_lane(w.exec)]) == w.exec;
    write_all(w, i.op[0], same ? w.exec : 0);
    if (i.op[1] != kAbsent) w.set_predicate(i.op[1], same ? kAllLanes : 0);
  }
};

// redux

template <class T, class F>
struct Redux {
  static void run(Warp& w, const Inst& i) {
    const auto* a = w.src<T>(i.op[1]);
    T result = F{}(a[first_lane(w.exec)]);
    each_lane(w.exec & (w.exec - 1), [&](uint32_t l) { result = F{}(result, F{}(a[l])); });
    write_all(w, i.op[0], std::bit_cast<uint32_t>(result));
  }
};

// An integer operation needs no preparation of its operands.
template <class T, T (*kOperation)(T, T)>
struct Plain {
  T operator()(T a) const { return a; }
  T operator()(T a, T b) const { return kOperation(a, b); }
};

template <class T>
T sum(T a, T b) {
  return static_cast<T>(a + b);
}
inline uint32_t bit_and(uint32_t a, uint32_t b) { return a & b; }
inline uint32_t bit_or(uint32_t a, uint32_t b) { return a | b; }
inline uint32_t bit_xor(uint32_t a, uint32_t b) { return a ^ b; }

template <class T>
Exec select_redux(const ptx::Instruction& inst) {
  if (inst.has(ptx::Mod::add)) return &run_together<Redux<T, Plain<T, &sum<T>>>, 2>;
  if (inst.has(ptx::Mod::min)) return &run_together<Redux<T, Plain<T, &num::min<T>>>, 2>;
  if (inst.has(ptx::Mod::max)) return &run_together<Redux<T, Plain<T, &num::max<T>>>, 2>;
  return nullptr;
}

// Without .NaN a NaN is left out; if all are NaN, and with .NaN if one is, the result is the canonical NaN.
template <bool kMax, bool kAbs, bool kNan>
struct FloatExtreme {
  static constexpr num::MinMaxMods kMods{.nan = kNan};
  float operator()(float a) const { return num::canonical(kAbs ? num::abs(a) : a); }
  float operator()(float a, float b) const { return kMax ? num::max<kMods>(a, b) : num::min<kMods>(a, b); }
};

template <bool kMax, bool kAbs>
Exec select_redux_float(bool nan) {
  if (nan) return &run_together<Redux<float, FloatExtreme<kMax, kAbs, true>>, 2>;
  return &run_together<Redux<float, FloatExtreme<kMax, kAbs, false>>, 2>;
}

// elect, activemask

// PTX asks only that the choice be deterministic: the lowest lane of the set.
struct Elect {
  static void run(Warp& w, const Inst& i) {
    const uint32_t leader = first_lane(w.exec);
    write_all(w, i.op[0], leader);
    w.set_predicate(i.op[1], Mask{1} << leader);
  }
};

const Inst* run_activemask(Warp& w, const Inst& i) {
  write_all(w, i.op[0], w.exec);
  return &i + 1;
}

}  // namespace

FB_EXEC(shfl) {
  if (s.inst.has(ptx::Mod::up)) return &run_together<Shfl<Shuffle::up>, 5>;
  if (s.inst.has(ptx::Mod::down)) return &run_together<Shfl<Shuffle::down>, 5>;
  if (s.inst.has(ptx::Mod::bfly)) return &run_together<Shfl<Shuffle::bfly>, 5>;
  return &run_together<Shfl<Shuffle::idx>, 5>;
}

FB_EXEC(vote) {
  if (s.inst.has(ptx::Mod::all)) return &run_together<VoteOf<Vote::all>, 2>;
  if (s.inst.has(ptx::Mod::any)) return &run_together<VoteOf<Vote::any>, 2>;
  return &run_together<VoteOf<Vote::uni>, 2>;
}

FB_EXEC(vote_ballot) { return &run_together<Ballot, 2>; }

FB_EXEC(match_any) {
  return by_bits(s.inst.type(), []<class T>() -> Exec { return &run_together<MatchAny<T>, 2>; });
}

FB_EXEC(match_all) {
  return by_bits(s.inst.type(), []<class T>() -> Exec { return &run_together<MatchAll<T>, 3>; });
}

FB_EXEC(redux) {
  using ptx::Mod;
  switch (s.inst.type()) {
    case ptx::Type::u32:
      return select_redux<uint32_t>(s.inst);
    case ptx::Type::s32:
      return select_redux<int32_t>(s.inst);
    case ptx::Type::b32:
      if (s.inst.has(Mod::and_)) return &run_together<Redux<uint32_t, Plain<uint32_t, &bit_and>>, 2>;
      if (s.inst.has(Mod::or_)) return &run_together<Redux<uint32_t, Plain<uint32_t, &bit_or>>, 2>;
      if (s.inst.has(Mod::xor_)) return &run_together<Redux<uint32_t, Plain<uint32_t, &bit_xor>>, 2>;
      return nullptr;
    default:
      return nullptr;
  }
}

FB_EXEC(redux_float) {
  const bool nan = s.inst.has(ptx::Mod::NaN), abs = s.inst.has(ptx::Mod::abs);
  if (s.inst.has(ptx::Mod::max))
    return abs ? select_redux_float<true, true>(nan) : select_redux_float<true, false>(nan);
  return abs ? select_redux_float<false, true>(nan) : select_redux_float<false, false>(nan);
}

FB_EXEC(elect) { return &run_together<Elect, 2>; }
FB_EXEC(activemask) { return &run_activemask; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
