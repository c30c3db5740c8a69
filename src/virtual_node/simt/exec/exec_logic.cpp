// Logic and shifts: PTX ISA, "Logic and Shift Instructions" and "prmt".

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_logic.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/bit_ops.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

using ptx::Mod;
using ptx::Type;
using U32 = uint32_t;

namespace {

// Logic has no 8-bit forms.
// A literal is a row of the constant pool, so all its lanes are equal.
bool is_literal(int32_t operand) { return operand < 0; }

}  // namespace

FB_EXEC(and_) {
  return by_bits(s.inst.type(),
                 []<class T>() { return lanes<T, T, T>([](T a, T b) { return static_cast<T>(a & b); }); });
}

FB_EXEC(or_) {
  return by_bits(s.inst.type(),
                 []<class T>() { return lanes<T, T, T>([](T a, T b) { return static_cast<T>(a | b); }); });
}

FB_EXEC(xor_) {
  return by_bits(s.inst.type(),
                 []<class T>() { return lanes<T, T, T>([](T a, T b) { return static_cast<T>(a ^ b); }); });
}

FB_EXEC(not_) {
  return by_bits(s.inst.type(), []<class T>() { return lanes<T, T>([](T a) { return static_cast<T>(~a); }); });
}

FB_EXEC(cnot) {
  return by_bits(s.inst.type(), []<class T>() { return lanes<T, T>([](T a) { return static_cast<T>(a == 0); }); });
}

// Predicates: all lanes are one word.

FB_EXEC(and_pred) {
  return [](Warp& w, const Inst& i) {
    w.set_predicate(i.op[0], w.predicate(i, 1) & w.predicate(i, 2));
    return &i + 1;
  };
}

FB_EXEC(or_pred) {
  return [](Warp& w, const Inst& i) {
    w.set_predicate(i.op[0], w.predicate(i, 1) | w.predicate(i, 2));
    return &i + 1;
  };
}

FB_EXEC(xor_pred) {
  return [](Warp& w, const Inst& i) {
    w.set_predicate(i.op[0], w.predicate(i, 1) ^ w.predicate(i, 2));
    return &i + 1;
  };
}

FB_EXEC(not_pred) {
  return [](Warp& w, const Inst& i) {
    w.set_predicate(i.op[0], ~w.predicate(i, 1));
    return &i + 1;
  };
}

// Three inputs, any function of them

namespace {

// The table as a tree of selections, c first: 17 operations instead of the 30 of the eight products.
HWY_INLINE void lop3_any(Mask exec, U32* d, const U32* a, const U32* b, const U32* c, U32 table) {
  U32 zero[4];  // result for c = 0, by a and b
  U32 flip[4];  // what c = 1 changes
  for (U32 ab = 0; ab < 4; ++ab) {
    zero[ab] = U32{0} - (table >> (2 * ab) & 1);
    flip[ab] = zero[ab] ^ (U32{0} - (table >> (2 * ab + 1) & 1));
  }
  map_lanes(
      exec, d,
      [=](U32 x, U32 y, U32 z) {
        const U32 r0 = zero[0] ^ (z & flip[0]), r1 = zero[1] ^ (z & flip[1]);
        const U32 r2 = zero[2] ^ (z & flip[2]), r3 = zero[3] ^ (z & flip[3]);
        const U32 low = r0 ^ (y & (r0 ^ r1)), high = r2 ^ (y & (r2 ^ r3));
        return low ^ (x & (low ^ high));
      },
      a, b, c);
}

// Tables are literals; those that compilers produce most have a loop of their own. a = 0xF0, b = 0xCC, c = 0xAA.
HWY_NOINLINE void lop3_rows(Mask exec, U32* d, const U32* a, const U32* b, const U32* c, U32 table) {
  switch (table & 0xff) {
    case 0x80:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return x & y & z; }, a, b, c);
    case 0xfe:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return x | y | z; }, a, b, c);
    case 0x96:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return x ^ y ^ z; }, a, b, c);
    case 0xf8:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return x | (y & z); }, a, b, c);
    case 0xea:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return (x & y) | z; }, a, b, c);
    case 0x6a:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return (x & y) ^ z; }, a, b, c);
    case 0xca:
      return map_lanes(exec, d, [](U32 x, U32 y, U32 z) { return z ^ (x & (y ^ z)); }, a, b, c);
    default:
      return lop3_any(exec, d, a, b, c, table);
  }
}

const Inst* run_lop3(Warp& w, const Inst& i) {
  lop3_rows(w.exec, w.row<U32>(i.op[0]), w.src<U32>(i.op[1]), w.src<U32>(i.op[2]), w.src<U32>(i.op[3]),
            *w.src<U32>(i.op[4]));
  return &i + 1;
}

// d|p: p is (d != 0) .and/.or cond, also where d is not wanted.
template <bool is_and>
const Inst* run_lop3_bool(Warp& w, const Inst& i) {
  alignas(64) U32 result[kLanes];
  lop3_rows(kAllLanes, result, w.src<U32>(i.op[2]), w.src<U32>(i.op[3]), w.src<U32>(i.op[4]), *w.src<U32>(i.op[5]));
  Mask nonzero = 0;
  for (U32 l = 0; l < kLanes; ++l) nonzero |= Mask{result[l] != 0} << l;
  const Mask condition = w.predicate(i, 6);
  map_lanes(w.exec, w.row<U32>(i.op[0]), [](U32 x) { return x; }, result);
  w.set_predicate(i.op[1], is_and ? nonzero & condition : nonzero | condition);
  return &i + 1;
}

}  // namespace

FB_EXEC(lop3) { return &run_lop3; }

FB_EXEC(lop3_bool) { return s.inst.has(Mod::and_) ? &run_lop3_bool<true> : &run_lop3_bool<false>; }

// Shifts

namespace {

// By a literal every lane shifts alike, which SIMD units can do for every width.
template <class T, T shift(T, U32)>
const Inst* run_shift(Warp& w, const Inst& i) {
  T* d = w.row<T>(i.op[0]);
  const T* a = w.src<T>(i.op[1]);
  const U32* amount = w.src<U32>(i.op[2]);
  if (is_literal(i.op[2])) {
    const U32 n = *amount;
    map_lanes(w.exec, d, [n](T x) { return shift(x, n); }, a);
  } else {
    map_lanes(w.exec, d, [](T x, U32 n) { return shift(x, n); }, a, amount);
  }
  return &i + 1;
}

template <U32 shift(U32, U32, U32)>
Exec funnel_shift() {
  return lanes<U32, U32, U32, U32>([](U32 a, U32 b, U32 c) { return shift(a, b, c); });
}

}  // namespace

FB_EXEC(shl) {
  return by_bits(s.inst.type(), []<class T>() -> Exec { return &run_shift<T, num::shl<T>>; });
}

FB_EXEC(shr_logical) {
  return by_bits(s.inst.type(), []<class T>() -> Exec { return &run_shift<T, num::shr<T>>; });
}

FB_EXEC(shr_arithmetic) {
  return by_bits(s.inst.type(), []<class T>() -> Exec {
    using Signed = std::make_signed_t<T>;
    return &run_shift<Signed, num::shr<Signed>>;
  });
}

FB_EXEC(shf_l) {
  return s.inst.has(Mod::wrap) ? funnel_shift<num::shf_l<num::Overrun::wrap>>()
                               : funnel_shift<num::shf_l<num::Overrun::clamp>>();
}

FB_EXEC(shf_r) {
  return s.inst.has(Mod::wrap) ? funnel_shift<num::shf_r<num::Overrun::wrap>>()
                               : funnel_shift<num::shf_r<num::Overrun::clamp>>();
}

// Bytes

namespace {

using num::PrmtMode;

// A literal selector without sign replication: each byte of the result comes from one known byte.
HWY_INLINE void prmt_literal(Mask exec, U32* d, const U32* a, const U32* b, U32 selector) {
  const U32* from[4];
  U32 shift[4];
  for (U32 k = 0; k < 4; ++k) {
    const U32 source = selector >> (4 * k) & 7;
    from[k] = source < 4 ? a : b;
    shift[k] = 8 * (source & 3);
  }
  const U32 s0 = shift[0], s1 = shift[1], s2 = shift[2], s3 = shift[3];
  map_lanes(
      exec, d,
      [=](U32 x0, U32 x1, U32 x2, U32 x3) {
        return (x0 >> s0 & 0xff) | (x1 >> s1 & 0xff) << 8 | (x2 >> s2 & 0xff) << 16 | (x3 >> s3) << 24;
      },
      from[0], from[1], from[2], from[3]);
}

const Inst* run_prmt(Warp& w, const Inst& i) {
  U32* d = w.row<U32>(i.op[0]);
  const U32* a = w.src<U32>(i.op[1]);
  const U32* b = w.src<U32>(i.op[2]);
  const U32* c = w.src<U32>(i.op[3]);
  if (is_literal(i.op[3]) && (*c & 0x8888) == 0) {
    prmt_literal(w.exec, d, a, b, *c);
  } else {
    map_lanes(w.exec, d, [](U32 x, U32 y, U32 z) { return num::prmt<PrmtMode::index>(x, y, z); }, a, b, c);
  }
  return &i + 1;
}

template <PrmtMode mode>
Exec prmt_lanes() {
  return lanes<U32, U32, U32, U32>([](U32 a, U32 b, U32 c) { return num::prmt<mode>(a, b, c); });
}

}  // namespace

FB_EXEC(prmt) {
  if (s.inst.has(Mod::f4e)) return prmt_lanes<PrmtMode::f4e>();
  if (s.inst.has(Mod::b4e)) return prmt_lanes<PrmtMode::b4e>();
  if (s.inst.has(Mod::rc8)) return prmt_lanes<PrmtMode::rc8>();
  if (s.inst.has(Mod::ecl)) return prmt_lanes<PrmtMode::ecl>();
  if (s.inst.has(Mod::ecr)) return prmt_lanes<PrmtMode::ecr>();
  if (s.inst.has(Mod::rc16)) return prmt_lanes<PrmtMode::rc16>();
  return &run_prmt;
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
