// Integer arithmetic: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic".

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_integer.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/bit_ops.h"
#include "virtual_node/num/integer.h"
#include "virtual_node/num/packed.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

using ptx::Mod;
using ptx::Type;
using U32 = uint32_t;

namespace {

// Families of types; arithmetic has no 8-bit forms.
template <class F>
Exec by_arithmetic(Type type, F f) {
  return by_type<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(type, f);
}
template <class F>
Exec by_signed(Type type, F f) {
  return by_type<int16_t, int32_t, int64_t>(type, f);
}
template <class F>
Exec by_int32_64(Type type, F f) {
  return by_type<uint32_t, int32_t, uint64_t, int64_t>(type, f);
}
template <class F>
Exec by_int32(Type type, F f) {
  return by_type<uint32_t, int32_t>(type, f);
}
// Where signedness makes no difference.
template <class F>
Exec by_32_64(Type type, F f) {
  return by_width<uint32_t, uint64_t>(type, f);
}

template <class T>
using Twice = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                 std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

// The types that have a product twice as wide.
template <class F>
Exec by_widening(Type type, F f) {
  return by_type<uint16_t, int16_t, uint32_t, int32_t>(type,
                                                       [&]<class T>() { return f.template operator()<T, Twice<T>>(); });
}

}  // namespace

// Addition, subtraction

FB_EXEC(add_int) {
  return by_bits(s.inst.type(),
                 []<class T>() { return lanes<T, T, T>([](T a, T b) { return static_cast<T>(a + b); }); });
}

FB_EXEC(sub_int) {
  return by_bits(s.inst.type(),
                 []<class T>() { return lanes<T, T, T>([](T a, T b) { return static_cast<T>(a - b); }); });
}

FB_EXEC(add_sat) {
  return lanes<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return num::add_sat(a, b); });
}

FB_EXEC(sub_sat) {
  return lanes<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return num::sub_sat(a, b); });
}

FB_EXEC(add_int_x2) {
  return lanes<uint32_t, uint32_t, uint32_t>([](uint32_t a, uint32_t b) { return num::add_16x2(a, b); });
}

// Extended precision: CC.CF is one bit per lane in the warp. It holds the carry out, after a subtraction the
// borrow.

namespace {

enum class Carry : uint8_t { out, in, in_out };

// d = f(sources…, carry in).
template <class F, Carry carry, class T, class... S>
const Inst* run_with_carry(Warp& w, const Inst& i) {
  [&]<size_t... K>(std::index_sequence<K...>) HWY_ATTR {
    T* d = w.row<T>(i.op[0]);
    const Mask in = carry == Carry::out ? 0 : w.carry;
    Mask out = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const num::WithCarry<T> r = F{}(w.src<S>(i.op[K + 1])[l]..., lane_in(in, l));
      d[l] = lane_in(w.exec, l) ? r.value : d[l];
      out |= Mask{r.carry} << l;
    }
    if constexpr (carry != Carry::in) w.carry = (w.carry & ~w.exec) | (out & w.exec);
  }(std::index_sequence_for<S...>{});
  return &i + 1;
}

template <Carry carry, class T, class... S, class F>
Exec carry_lanes(F) {
  return &run_with_carry<F, carry, T, S...>;
}

template <class T, Carry carry>
Exec add_with_carry() {
  return carry_lanes<carry, T, T, T>([](T a, T b, bool in) { return num::add_carry(a, b, in); });
}

template <class T, Carry carry>
Exec sub_with_borrow() {
  return carry_lanes<carry, T, T, T>([](T a, T b, bool in) { return num::sub_borrow(a, b, in); });
}

// The upper half of a product depends on signedness; the carry out of the addition is that of bit patterns in both
// cases.
template <class T, Carry carry>
Exec mad_with_carry(bool hi) {
  using U = std::make_unsigned_t<T>;
  if (hi) {
    return carry_lanes<carry, U, T, T, U>(
        [](T a, T b, U c, bool in) { return num::add_carry(static_cast<U>(num::mul_hi(a, b)), c, in); });
  }
  return carry_lanes<carry, U, U, U, U>([](U a, U b, U c, bool in) { return num::mad_lo_carry(a, b, c, in); });
}

}  // namespace

FB_EXEC(add_cc) {
  return by_32_64(s.inst.type(), []<class T>() { return add_with_carry<T, Carry::out>(); });
}

FB_EXEC(addc) {
  return by_32_64(s.inst.type(), [&]<class T>() {
    return s.inst.has(Mod::cc) ? add_with_carry<T, Carry::in_out>() : add_with_carry<T, Carry::in>();
  });
}

FB_EXEC(sub_cc) {
  return by_32_64(s.inst.type(), []<class T>() { return sub_with_borrow<T, Carry::out>(); });
}

FB_EXEC(subc) {
  return by_32_64(s.inst.type(), [&]<class T>() {
    return s.inst.has(Mod::cc) ? sub_with_borrow<T, Carry::in_out>() : sub_with_borrow<T, Carry::in>();
  });
}

FB_EXEC(mad_cc) {
  const bool hi = s.inst.has(Mod::hi);
  return by_int32_64(s.inst.type(), [&]<class T>() { return mad_with_carry<T, Carry::out>(hi); });
}

FB_EXEC(madc) {
  const bool hi = s.inst.has(Mod::hi);
  return by_int32_64(s.inst.type(), [&]<class T>() {
    return s.inst.has(Mod::cc) ? mad_with_carry<T, Carry::in_out>(hi) : mad_with_carry<T, Carry::in>(hi);
  });
}

// Multiplication

FB_EXEC(mul_lo) {
  return by_bits(s.inst.type(), []<class T>() { return lanes<T, T, T>([](T a, T b) { return num::mul_lo(a, b); }); });
}

FB_EXEC(mul_hi) {
  return by_arithmetic(s.inst.type(),
                       []<class T>() { return lanes<T, T, T>([](T a, T b) { return num::mul_hi(a, b); }); });
}

FB_EXEC(mul_wide) {
  return by_widening(s.inst.type(), []<class T, class Wide>() {
    return lanes<Wide, T, T>([](T a, T b) { return num::mul_wide(a, b); });
  });
}

FB_EXEC(mad_lo) {
  return by_bits(s.inst.type(), []<class T>() {
    return lanes<T, T, T, T>([](T a, T b, T c) { return static_cast<T>(num::mul_lo(a, b) + c); });
  });
}

FB_EXEC(mad_hi) {
  return by_arithmetic(s.inst.type(), []<class T>() {
    return lanes<T, T, T, T>([](T a, T b, T c) { return static_cast<T>(num::mul_hi(a, b) + c); });
  });
}

FB_EXEC(mad_hi_sat) {
  return lanes<int32_t, int32_t, int32_t, int32_t>(
      [](int32_t a, int32_t b, int32_t c) { return num::mad_hi_sat(a, b, c); });
}

FB_EXEC(mad_wide) {
  return by_widening(s.inst.type(), []<class T, class Wide>() {
    return lanes<Wide, T, T, Wide>([](T a, T b, Wide c) { return static_cast<Wide>(num::mul_wide(a, b) + c); });
  });
}

FB_EXEC(mul24) {
  const bool hi = s.inst.has(Mod::hi);
  return by_int32(s.inst.type(), [&]<class T>() {
    return hi ? lanes<T, T, T>([](T a, T b) { return num::mul24_hi(a, b); })
              : lanes<T, T, T>([](T a, T b) { return num::mul24_lo(a, b); });
  });
}

FB_EXEC(mad24) {
  const bool hi = s.inst.has(Mod::hi);
  return by_int32(s.inst.type(), [&]<class T>() {
    return hi ? lanes<T, T, T, T>([](T a, T b, T c) { return static_cast<T>(num::mul24_hi(a, b) + c); })
              : lanes<T, T, T, T>([](T a, T b, T c) { return static_cast<T>(num::mul24_lo(a, b) + c); });
  });
}

FB_EXEC(mad24_sat) {
  return lanes<int32_t, int32_t, int32_t, int32_t>(
      [](int32_t a, int32_t b, int32_t c) { return num::add_sat(num::mul24_hi(a, b), c); });
}

FB_EXEC(sad) {
  return by_arithmetic(s.inst.type(),
                       []<class T>() { return lanes<T, T, T, T>([](T a, T b, T c) { return num::sad(a, b, c); }); });
}

// Sum of absolute differences of four bytes (__vsadu4, __vsads4). Byte selections and masks other than the default ones
// have no spelling in forms.def.
FB_EXEC(vabsdiff4_add) {
  if (s.inst.type(1) != s.inst.type(2)) return nullptr;
  const auto differences = []<class Byte>() {
    return lanes<uint32_t, uint32_t, uint32_t, uint32_t>([](uint32_t a, uint32_t b, uint32_t c) {
      for (int shift = 0; shift < 32; shift += 8) {
        const int x = static_cast<Byte>(a >> shift), y = static_cast<Byte>(b >> shift);
        c += static_cast<uint32_t>(x < y ? y - x : x - y);
      }
      return c;
    });
  };
  return s.inst.type(1) == ptx::Type::s32 ? differences.operator()<int8_t>() : differences.operator()<uint8_t>();
}

namespace {

// dp4a and dp2a: both operands choose how their bytes extend.
template <class F>
Exec by_two_int32(const ptx::Instruction& inst, F f) {
  return by_int32(inst.type(0), [&]<class A>() {
    return by_int32(inst.type(1), [&]<class B>() { return f.template operator()<A, B>(); });
  });
}

}  // namespace

FB_EXEC(dp4a) {
  return by_two_int32(s.inst, []<class A, class B>() {
    return lanes<uint32_t, uint32_t, uint32_t, uint32_t>(
        [](uint32_t a, uint32_t b, uint32_t c) { return num::dp4a<A, B>(a, b, c); });
  });
}

FB_EXEC(dp2a) {
  const bool hi = s.inst.has(Mod::hi);
  return by_two_int32(s.inst, [&]<class A, class B>() {
    return hi ? lanes<uint32_t, uint32_t, uint32_t, uint32_t>(
                    [](uint32_t a, uint32_t b, uint32_t c) { return num::dp2a<A, B, true>(a, b, c); })
              : lanes<uint32_t, uint32_t, uint32_t, uint32_t>(
                    [](uint32_t a, uint32_t b, uint32_t c) { return num::dp2a<A, B, false>(a, b, c); });
  });
}

// Division

namespace {

// CPUs divide doubles side by side, integers one by one. A quotient of two 32-bit integers, rounded to 53 bits, lies
// on the right side of every integer: it differs from one by at least 1/b, its rounding error is below 2^-20/b.
inline int32_t quotient(int32_t a, int32_t b) {
  const bool overflow = a == INT32_MIN && b == -1;
  const int32_t divisor = b == 0 || overflow ? 1 : b;
  const auto q = static_cast<int32_t>(static_cast<double>(a) / static_cast<double>(divisor));
  return b == 0 ? -1 : q;
}

// With a divisor above 1 the quotient fits 31 bits, which is what CPUs convert from double.
inline uint32_t quotient(uint32_t a, uint32_t b) {
  constexpr uint32_t kTop = 0x80000000u;
  const auto to_double = [](uint32_t x) { return static_cast<double>(static_cast<int32_t>(x ^ kTop)) + 2147483648.0; };
  const uint32_t divisor = b < 2 ? 2 : b;
  const auto q = static_cast<uint32_t>(static_cast<int32_t>(to_double(a) / to_double(divisor)));
  return b < 2 ? (b == 0 ? ~uint32_t{0} : a) : q;
}

template <class T>
T divide(T a, T b) {
  if constexpr (sizeof(T) == 4) return quotient(a, b);
  return num::div(a, b);
}

template <class T>
T remainder(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    const T r = static_cast<T>(a - quotient(a, b) * b);
    return b == 0 ? a : r;
  } else {
    return num::rem(a, b);
  }
}

}  // namespace

FB_EXEC(div_int) {
  return by_arithmetic(s.inst.type(), []<class T>() { return lanes<T, T, T>([](T a, T b) { return divide(a, b); }); });
}

FB_EXEC(rem) {
  return by_arithmetic(s.inst.type(),
                       []<class T>() { return lanes<T, T, T>([](T a, T b) { return remainder(a, b); }); });
}

// Sign, minimum, maximum

FB_EXEC(abs_int) {
  return by_signed(s.inst.type(), []<class T>() { return lanes<T, T>([](T a) { return num::abs(a); }); });
}

FB_EXEC(neg_int) {
  return by_signed(s.inst.type(), []<class T>() { return lanes<T, T>([](T a) { return num::neg(a); }); });
}

FB_EXEC(min_int) {
  if (s.inst.has(Mod::relu)) {
    if (s.inst.type() != Type::s32) return nullptr;
    return lanes<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return num::relu(num::min(a, b)); });
  }
  return by_arithmetic(s.inst.type(),
                       []<class T>() { return lanes<T, T, T>([](T a, T b) { return num::min(a, b); }); });
}

FB_EXEC(max_int) {
  if (s.inst.has(Mod::relu)) {
    if (s.inst.type() != Type::s32) return nullptr;
    return lanes<int32_t, int32_t, int32_t>([](int32_t a, int32_t b) { return num::relu(num::max(a, b)); });
  }
  return by_arithmetic(s.inst.type(),
                       []<class T>() { return lanes<T, T, T>([](T a, T b) { return num::max(a, b); }); });
}

FB_EXEC(min_int_x2) {
  if (s.inst.type() == Type::s16x2) {
    return s.inst.has(Mod::relu)
               ? lanes<U32, U32, U32>([](U32 a, U32 b) { return num::relu_s16x2(num::min_s16x2(a, b)); })
               : lanes<U32, U32, U32>([](U32 a, U32 b) { return num::min_s16x2(a, b); });
  }
  if (s.inst.has(Mod::relu)) return nullptr;
  return lanes<U32, U32, U32>([](U32 a, U32 b) { return num::min_u16x2(a, b); });
}

FB_EXEC(max_int_x2) {
  if (s.inst.type() == Type::s16x2) {
    return s.inst.has(Mod::relu)
               ? lanes<U32, U32, U32>([](U32 a, U32 b) { return num::relu_s16x2(num::max_s16x2(a, b)); })
               : lanes<U32, U32, U32>([](U32 a, U32 b) { return num::max_s16x2(a, b); });
  }
  if (s.inst.has(Mod::relu)) return nullptr;
  return lanes<U32, U32, U32>([](U32 a, U32 b) { return num::max_u16x2(a, b); });
}

// Bits and bit fields

FB_EXEC(popc) {
  return by_32_64(s.inst.type(), []<class T>() { return lanes<U32, T>([](T a) { return num::popc(a); }); });
}

FB_EXEC(clz) {
  return by_32_64(s.inst.type(), []<class T>() { return lanes<U32, T>([](T a) { return num::clz(a); }); });
}

FB_EXEC(bfind) {
  const bool shiftamt = s.inst.has(Mod::shiftamt);
  return by_int32_64(s.inst.type(), [&]<class T>() {
    return shiftamt ? lanes<U32, T>([](T a) { return num::bfind<true>(a); })
                    : lanes<U32, T>([](T a) { return num::bfind<false>(a); });
  });
}

FB_EXEC(fns) {
  return lanes<U32, U32, U32, int32_t>([](U32 mask, U32 base, int32_t offset) { return num::fns(mask, base, offset); });
}

FB_EXEC(brev) {
  return by_32_64(s.inst.type(), []<class T>() { return lanes<T, T>([](T a) { return num::brev(a); }); });
}

FB_EXEC(bfe) {
  return by_int32_64(s.inst.type(), []<class T>() {
    return lanes<T, T, U32, U32>([](T a, U32 position, U32 length) { return num::bfe(a, position, length); });
  });
}

FB_EXEC(bfi) {
  return by_32_64(s.inst.type(), []<class T>() {
    return lanes<T, T, T, U32, U32>(
        [](T a, T b, U32 position, U32 length) { return num::bfi(a, b, position, length); });
  });
}

FB_EXEC(szext) {
  const bool wrap = s.inst.has(Mod::wrap);
  return by_int32(s.inst.type(), [&]<class T>() {
    return wrap ? lanes<T, T, U32>([](T a, U32 n) { return num::szext<num::Overrun::wrap>(a, n); })
                : lanes<T, T, U32>([](T a, U32 n) { return num::szext<num::Overrun::clamp>(a, n); });
  });
}

FB_EXEC(bmsk) {
  return s.inst.has(Mod::wrap)
             ? lanes<U32, U32, U32>([](U32 a, U32 b) { return num::bmsk<num::Overrun::wrap>(a, b); })
             : lanes<U32, U32, U32>([](U32 a, U32 b) { return num::bmsk<num::Overrun::clamp>(a, b); });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
