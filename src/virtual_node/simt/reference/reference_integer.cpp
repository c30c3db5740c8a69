// The slow engine: integer arithmetic, from the definitions of the PTX manual in 128-bit integers.

#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

I128 arg(const Operation& o, int k) { return as_integer(o.in[k][0], o.type()); }
void result(Operation& o, I128 value) { o.out[0][0] = static_cast<Bits>(value); }

// A 64 by 64 bit product fits 128 bits either way: as unsigned, or as signed.
Bits product(const Operation& o) {
  if (is_signed(o.type())) return static_cast<Bits>(arg(o, 1) * arg(o, 2));
  return raw(o, 1) * raw(o, 2);
}

Bits half_of_product(const Operation& o) {
  const Bits p = product(o);
  if (o.has(Mod::lo)) return low(p, bits(o));
  return low(is_signed(o.type()) ? static_cast<Bits>(static_cast<I128>(p) >> bits(o)) : p >> bits(o), bits(o));
}

void saturate(Operation& o, I128 value) { result(o, clamp(value, least_of(Type::s32), most_of(Type::s32))); }

template <class F>
void each_half(Operation& o, F f) {
  const bool has_sign = o.type() == Type::s16x2;
  Bits d = 0;
  for (int k = 0; k < 2; ++k) {
    const auto half = [&](int operand) -> I128 {
      const Bits h = o.in[operand][0] >> (16 * k);
      return has_sign ? as_signed(h, 16) : static_cast<I128>(low(h, 16));
    };
    d |= low(static_cast<Bits>(f(half(1), half(2))), 16) << (16 * k);
  }
  o.out[0][0] = d;
}

I128 smaller(I128 a, I128 b) { return a < b ? a : b; }
I128 larger(I128 a, I128 b) { return a > b ? a : b; }
I128 magnitude(I128 a) { return a < 0 ? -a : a; }

// Adds in `bits` unsigned bits; the carry is what leaves them.
void add_with_carry(Operation& o, Bits a, Bits b, bool carry_in, bool writes_carry) {
  const Bits sum = a + b + (carry_in ? 1 : 0);
  if (writes_carry) o.carry = sum >> bits(o) != 0;
  o.out[0][0] = sum;
}

void subtract_with_borrow(Operation& o, bool borrow_in, bool writes_carry) {
  const Bits take = raw(o, 2) + (borrow_in ? 1 : 0);
  if (writes_carry) o.carry = raw(o, 1) < take;
  o.out[0][0] = raw(o, 1) - take;
}

I128 product24(const Operation& o) {
  const auto cut = [&](int k) -> I128 {
    return is_signed(o.type()) ? as_signed(o.in[k][0], 24) : static_cast<I128>(low(o.in[k][0], 24));
  };
  const I128 p = cut(1) * cut(2);
  return o.has(Mod::lo) ? as_integer(static_cast<Bits>(p), o.type()) : as_integer(static_cast<Bits>(p >> 16), o.type());
}

// Division by zero is unspecified; all ones and the dividend, as GPUs give them.
void divide_int(Operation& o) { result(o, arg(o, 2) == 0 ? -1 : arg(o, 1) / arg(o, 2)); }
void remainder(Operation& o) { result(o, arg(o, 2) == 0 ? arg(o, 1) : arg(o, 1) % arg(o, 2)); }

I128 relu(const Operation& o, I128 value) { return o.has(Mod::relu) && value < 0 ? 0 : value; }

int count_bits(Bits v) {
  int n = 0;
  for (; v != 0; v >>= 1) n += static_cast<int>(v & 1);
  return n;
}

int top_bit(Bits v) {
  int n = -1;
  for (; v != 0; v >>= 1) ++n;
  return n;
}

void bfind(Operation& o) {
  Bits a = raw(o, 1);
  if (is_signed(o.type()) && arg(o, 1) < 0) a = low(~a, bits(o));
  const int top = top_bit(a);
  if (top < 0) return result(o, 0xFFFF'FFFF);
  result(o, o.has(Mod::shiftamt) ? static_cast<int>(bits(o)) - 1 - top : top);
}

void fns(Operation& o) {
  const Bits mask = low(o.in[1][0], 32);
  const I128 base = static_cast<I128>(low(o.in[2][0], 32));
  const I128 offset = as_signed(o.in[3][0], 32);
  result(o, 0xFFFF'FFFF);
  if (base > 31) return;
  if (offset == 0) {
    if ((mask >> base & 1) != 0) result(o, base);
    return;
  }
  I128 left = magnitude(offset) - 1;
  for (I128 pos = base; pos >= 0 && pos < 32; pos += offset > 0 ? 1 : -1) {
    if ((mask >> pos & 1) == 0) continue;
    if (left-- == 0) return result(o, pos);
  }
}

void brev(Operation& o) {
  Bits d = 0;
  for (uint32_t k = 0; k < bits(o); ++k) d |= (raw(o, 1) >> k & 1) << (bits(o) - 1 - k);
  o.out[0][0] = d;
}

void bfe(Operation& o) {
  const int msb = static_cast<int>(bits(o)) - 1;
  const int pos = static_cast<int>(o.in[2][0] & 255), len = static_cast<int>(o.in[3][0] & 255);
  const Bits a = raw(o, 1);
  Bits sign = 0;
  if (is_signed(o.type()) && len != 0) sign = a >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
  Bits d = 0;
  for (int k = 0; k <= msb; ++k) d |= (k < len && pos + k <= msb ? a >> (pos + k) & 1 : sign) << k;
  o.out[0][0] = d;
}

void bfi(Operation& o) {
  const int msb = static_cast<int>(bits(o)) - 1;
  const int pos = static_cast<int>(o.in[3][0] & 255), len = static_cast<int>(o.in[4][0] & 255);
  Bits f = raw(o, 2);
  for (int k = 0; k < len && pos + k <= msb; ++k) {
    f &= ~(Bits{1} << (pos + k));
    f |= (raw(o, 1) >> k & 1) << (pos + k);
  }
  o.out[0][0] = f;
}

void szext(Operation& o) {
  const auto n = static_cast<uint32_t>(o.in[2][0]);
  const Bits a = raw(o, 1);
  if (n >= 32 && o.has(Mod::clamp)) return result(o, static_cast<I128>(a));
  const uint32_t width = n & 31;
  if (width == 0) return result(o, 0);
  result(o, is_signed(o.type()) ? as_signed(a, width) : static_cast<I128>(low(a, width)));
}

void bmsk(Operation& o) {
  auto from = static_cast<uint32_t>(o.in[1][0]), count = static_cast<uint32_t>(o.in[2][0]);
  if (o.has(Mod::wrap)) {
    from &= 31;
    count &= 31;
  }
  Bits d = 0;
  for (uint64_t k = from; k < 32 && k < uint64_t{from} + count; ++k) d |= Bits{1} << k;
  o.out[0][0] = d;
}

// Element k of `size` bits, extended as the type says.
I128 element(Bits v, int k, uint32_t size, Type type) {
  const Bits e = v >> (static_cast<uint32_t>(k) * size);
  return is_signed(type) ? as_signed(e, size) : static_cast<I128>(low(e, size));
}

void dp4a(Operation& o) {
  I128 sum = as_signed(o.in[3][0], 32);
  for (int k = 0; k < 4; ++k) sum += element(o.in[1][0], k, 8, o.type(0)) * element(o.in[2][0], k, 8, o.type(1));
  result(o, sum);
}

void dp2a(Operation& o) {
  I128 sum = as_signed(o.in[3][0], 32);
  const int from = o.has(Mod::hi) ? 2 : 0;
  for (int k = 0; k < 2; ++k) {
    sum += element(o.in[1][0], k, 16, o.type(0)) * element(o.in[2][0], from + k, 8, o.type(1));
  }
  result(o, sum);
}

void sum_of_byte_differences(Operation& o) {
  I128 sum = static_cast<I128>(low(o.in[3][0], 32));
  for (int k = 0; k < 4; ++k)
    sum += magnitude(element(o.in[1][0], k, 8, o.type(1)) - element(o.in[2][0], k, 8, o.type(2)));
  result(o, sum);
}

}  // namespace

Evaluate integer_evaluator(Form form) {
  switch (form) {
    case Form::add_int:
      return [](Operation& o) { result(o, arg(o, 1) + arg(o, 2)); };
    case Form::sub_int:
      return [](Operation& o) { result(o, arg(o, 1) - arg(o, 2)); };
    case Form::add_sat:
      return [](Operation& o) { saturate(o, arg(o, 1) + arg(o, 2)); };
    case Form::sub_sat:
      return [](Operation& o) { saturate(o, arg(o, 1) - arg(o, 2)); };
    case Form::add_int_x2:
      return [](Operation& o) { each_half(o, [](I128 a, I128 b) { return a + b; }); };
    case Form::add_cc:
      return [](Operation& o) { add_with_carry(o, raw(o, 1), raw(o, 2), false, true); };
    case Form::addc:
      return [](Operation& o) { add_with_carry(o, raw(o, 1), raw(o, 2), o.carry, o.has(Mod::cc)); };
    case Form::sub_cc:
      return [](Operation& o) { subtract_with_borrow(o, false, true); };
    case Form::subc:
      return [](Operation& o) { subtract_with_borrow(o, o.carry, o.has(Mod::cc)); };
    case Form::mul_lo:
    case Form::mul_hi:
      return [](Operation& o) { o.out[0][0] = half_of_product(o); };
    case Form::mul_wide:
      return [](Operation& o) { o.out[0][0] = product(o); };
    case Form::mad_lo:
    case Form::mad_hi:
      return [](Operation& o) { o.out[0][0] = half_of_product(o) + raw(o, 3); };
    case Form::mad_hi_sat:
      return [](Operation& o) { saturate(o, as_integer(half_of_product(o), o.type()) + arg(o, 3)); };
    case Form::mad_wide:
      return [](Operation& o) { o.out[0][0] = product(o) + o.in[3][0]; };
    case Form::mad_cc:
      return [](Operation& o) { add_with_carry(o, half_of_product(o), raw(o, 3), false, true); };
    case Form::madc:
      return [](Operation& o) { add_with_carry(o, half_of_product(o), raw(o, 3), o.carry, o.has(Mod::cc)); };
    case Form::mul24:
      return [](Operation& o) { result(o, product24(o)); };
    case Form::mad24:
      return [](Operation& o) { result(o, product24(o) + arg(o, 3)); };
    case Form::mad24_sat:
      return [](Operation& o) { saturate(o, product24(o) + arg(o, 3)); };
    case Form::sad:
      return [](Operation& o) { result(o, arg(o, 3) + magnitude(arg(o, 1) - arg(o, 2))); };
    case Form::div_int:
      return divide_int;
    case Form::rem:
      return remainder;
    case Form::abs_int:
      return [](Operation& o) { result(o, magnitude(arg(o, 1))); };
    case Form::neg_int:
      return [](Operation& o) { result(o, -arg(o, 1)); };
    case Form::min_int:
      return [](Operation& o) { result(o, relu(o, smaller(arg(o, 1), arg(o, 2)))); };
    case Form::max_int:
      return [](Operation& o) { result(o, relu(o, larger(arg(o, 1), arg(o, 2)))); };
    case Form::min_int_x2:
      return [](Operation& o) { each_half(o, [&](I128 a, I128 b) { return relu(o, smaller(a, b)); }); };
    case Form::max_int_x2:
      return [](Operation& o) { each_half(o, [&](I128 a, I128 b) { return relu(o, larger(a, b)); }); };
    case Form::popc:
      return [](Operation& o) { result(o, count_bits(raw(o, 1))); };
    case Form::clz:
      return [](Operation& o) { result(o, static_cast<int>(bits(o)) - 1 - top_bit(raw(o, 1))); };
    case Form::bfind:
      return bfind;
    case Form::fns:
      return fns;
    case Form::brev:
      return brev;
    case Form::bfe:
      return bfe;
    case Form::bfi:
      return bfi;
    case Form::szext:
      return szext;
    case Form::bmsk:
      return bmsk;
    case Form::vabsdiff4_add:
      return sum_of_byte_differences;
    case Form::activemask:
      return [](Operation& o) { o.out[0][0] = o.executing; };
    case Form::mbarrier_pending_count:  // bits 21 … 40 of a state: mbarrier.h
      return [](Operation& o) { o.out[0][0] = o.in[1][0] / (1 << 21) % (1 << 20); };
    case Form::dp4a:
      return dp4a;
    case Form::dp2a:
      return dp2a;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
