// The slow engine: mma.sync, ldmatrix, stmatrix and movmatrix, element by element from the figures of the PTX manual.
// Waiting for the lanes of the warp is the fast engine's.

#include <cstring>
#include <memory>

#include "common/ptx/matrix_shape.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/reference/reference_matrices.h"
#include "virtual_node/simt/reference/reference_operands.h"

namespace fb::simt::reference {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

namespace {

bool is_integer(Type type) {
  return type == Type::b1 || type == Type::s32 || type == Type::s8 || type == Type::u8 || type == Type::s4 ||
         type == Type::u4;
}

uint64_t element_code(Bits reg, uint32_t index, Type type) {
  const uint32_t bits = element_bits(type);
  const auto code = static_cast<uint64_t>(low(reg >> (index * bits), bits));
  return type == Type::tf32 ? code >> 13 : code;
}

Number rounded(const Number& n, const Format& f) { return decode(encode(n, f, Rounding::nearest_even), f); }

Number add_product(const Number& sum, const Matrices& m, uint32_t row, uint32_t column, uint32_t k, const Format& f) {
  return rounded(add(sum, multiply(m.a[row][k], m.b[k][column]), Rounding::nearest_even), f);
}

// Products of even and of odd k have sums of their own, which are added to each other and then to the accumulator; each
// addition rounds to f32.
Number dot(const Matrices& m, uint32_t row, uint32_t column) {
  Number sums[2] = {decode(0, kF32), decode(0, kF32)};
  for (uint32_t k = 0; k < m.shape.k; ++k) sums[k % 2] = add_product(sums[k % 2], m, row, column, k, kF32);
  const Number both = rounded(add(sums[0], sums[1], Rounding::nearest_even), kF32);
  return rounded(add(m.c[row][column], both, Rounding::nearest_even), kF32);
}

Number dot_f64(const Matrices& m, uint32_t row, uint32_t column) {
  Number sum = m.c[row][column];
  for (uint32_t k = 0; k < m.shape.k; ++k) sum = add_product(sum, m, row, column, k, kF64);
  return sum;
}

// Integers are exact; the sum wraps, or saturates.
int64_t value_of(const Number& n) {
  const auto magnitude = static_cast<int64_t>(n.m.shift_left(n.e > 0 ? n.e : 0).shift_right(n.e < 0 ? -n.e : 0).lo);
  return n.negative ? -magnitude : magnitude;
}

uint64_t dot_integer(const Matrices& m, const ptx::Instruction& inst, uint32_t row, uint32_t column) {
  int64_t sum = value_of(m.c[row][column]);
  for (uint32_t k = 0; k < m.shape.k; ++k) {
    const int64_t a = value_of(m.a[row][k]), b = value_of(m.b[k][column]);
    sum += inst.has(Mod::xor_) ? a ^ b : a * b;
  }
  if (inst.has(Mod::satfinite)) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
  return static_cast<uint32_t>(sum);
}

}  // namespace

uint32_t element_bits(Type type) { return type == Type::tf32 ? 32 : ptx::bits_of(type); }

// Of a tf32 the low bits are not looked at, but a NaN stays one.
Number element_number(Bits reg, uint32_t index, Type type) {
  const uint64_t code = element_code(reg, index, type);
  if (type == Type::tf32) {
    const auto whole = static_cast<uint64_t>(low(reg, 32));
    return is_nan(whole, kF32) ? decode(kF32.nan, kF32) : decode(code, kTf32);
  }
  if (!is_integer(type)) return decode(code, format_of(type));
  const I128 value = type == Type::s8 || type == Type::s4 || type == Type::s32 ? as_signed(code, element_bits(type))
                                                                               : static_cast<I128>(code);
  return from_integer(value < 0, static_cast<U128>(value < 0 ? -value : value));
}

uint64_t result_code(const Matrices& m, const ptx::Instruction& inst, uint32_t row, uint32_t column) {
  const Type type = inst.type(0);
  if (type == Type::s32) return dot_integer(m, inst, row, column);
  const Number sum = type == Type::f64 ? dot_f64(m, row, column) : dot(m, row, column);
  return encode(sum, format_of(type), Rounding::nearest_even);
}

namespace {

// Group g = lane / 4 is a row of A and a column of B, t = lane % 4 counts along the depth.
void read_factors(const Operands& o, Matrices& m) {
  const Type a = o.inst().type(1), b = o.inst().type(2);
  const uint32_t register_bits = a == Type::f64 ? 64 : 32;
  const uint32_t in_register = register_bits / element_bits(a), halves = m.shape.m / 8;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t k = 0; k < in_register; ++k) {
      for (uint32_t r = 0; r < static_cast<uint32_t>(o.count(1)); ++r) {
        m.a[g + 8 * (r % halves)][t * in_register + k + 4 * in_register * (r / halves)] =
            element_number(o.read(1, lane, static_cast<int>(r)), k, a);
      }
      for (uint32_t r = 0; r < static_cast<uint32_t>(o.count(2)); ++r) {
        m.b[t * in_register + k + 4 * in_register * r][g] = element_number(o.read(2, lane, static_cast<int>(r)), k, b);
      }
    }
  }
}

void multiply_add(Operands& o, const Warp& w) {
  const Type type = o.inst().type(0);
  const auto m = std::make_unique<Matrices>();
  m->shape = ptx::matrix_shape(o.inst()).value();
  read_factors(o, *m);
  each_accumulator(type, m->shape.m, [&](uint32_t lane, int reg, uint32_t index, uint32_t row, uint32_t column) {
    m->c[row][column] = element_number(o.read(3, lane, reg), index, type);
  });
  Bits d[kLanes][4] = {};
  each_accumulator(type, m->shape.m, [&](uint32_t lane, int reg, uint32_t index, uint32_t row, uint32_t column) {
    d[lane][reg] |= Bits{result_code(*m, o.inst(), row, column)} << (16 * index);
  });
  each_executing(w, [&](uint32_t lane) {
    for (int reg = 0; reg < o.count(0); ++reg) o.write(0, lane, d[lane][reg], reg);
  });
}

// Matrices of 8 × 8 elements of 16 bits

// Lane 4r + t holds elements 2t and 2t + 1 of row r.
struct Square {
  uint16_t v[8][8] = {};

  Square transposed() const {
    Square other;
    for (int r = 0; r < 8; ++r) {
      for (int c = 0; c < 8; ++c) other.v[c][r] = v[r][c];
    }
    return other;
  }
};

Square read_square(const Operands& o, size_t k, int element) {
  Square s;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const Bits pair = o.read(k, lane, element);
    for (uint32_t h = 0; h < 2; ++h) s.v[lane / 4][lane % 4 * 2 + h] = static_cast<uint16_t>(pair >> (16 * h));
  }
  return s;
}

void write_square(Operands& o, const Warp& w, int element, const Square& s) {
  each_executing(w, [&](uint32_t lane) {
    const uint16_t* at = &s.v[lane / 4][lane % 4 * 2];
    o.write(0, lane, Bits{at[0]} | Bits{at[1]} << 16, element);
  });
}

constexpr uint32_t kRowBytes = 16;

// The host bytes of row r of matrix m, whose address lane 8m + r has; null where that lane does not execute.
struct MatrixRows {
  std::byte* at[kLanes] = {};
};

MatrixRows find_rows(Warp& w, const Inst& i, const Operands& o, size_t k, AccessKind kind, uint32_t matrices) {
  const ptx::Space space = o.inst().spaces.empty() ? ptx::Space::generic : o.inst().spaces[0];
  mem::Address address[kLanes] = {}, generic[kLanes] = {};
  Mask lanes = 0;
  each_executing(w, [&](uint32_t lane) {
    if (lane >= 8 * matrices) return;
    lanes |= Mask{1} << lane;
    uint64_t base = 0;
    std::memcpy(&base, w.src<std::byte>(i.op[k]) + size_t{lane} * i.width[k], i.width[k]);
    base += static_cast<uint64_t>(i.imm);
    address[lane] = i.width[k] == 4 ? base & 0xFFFF'FFFF : base;
    generic[lane] = address[lane] + window_base(space);
  });
  if (w.listener() && lanes != 0)
    w.listener()->on_access(w, {kind, order_of(i), scope_of(i), Proxy::generic, kRowBytes, lanes, generic, &i});
  MatrixRows rows;
  each_executing(w, [&](uint32_t lane) {
    if (lane >= 8 * matrices) return;
    rows.at[lane] = w.resolve(i, space, lane, address[lane], kRowBytes);
    if (kind == AccessKind::load && w.recording) w.note_read(rows.at[lane], generic[lane], kRowBytes, i);
  });
  return rows;
}

void load_matrices(Warp& w, const Inst& i, Operands& o) {
  const MatrixRows rows = find_rows(w, i, o, 1, AccessKind::load, static_cast<uint32_t>(o.count(0)));
  for (int m = 0; m < o.count(0); ++m) {
    Square s;
    for (int r = 0; r < 8; ++r) {
      if (const std::byte* from = rows.at[8 * m + r]) std::memcpy(s.v[r], from, kRowBytes);
    }
    write_square(o, w, m, o.inst().has(Mod::trans) ? s.transposed() : s);
  }
}

void store_matrices(Warp& w, const Inst& i, const Operands& o) {
  const MatrixRows rows = find_rows(w, i, o, 0, AccessKind::store, static_cast<uint32_t>(o.count(1)));
  for (int m = 0; m < o.count(1); ++m) {
    const Square held = read_square(o, 1, m);
    const Square s = o.inst().has(Mod::trans) ? held.transposed() : held;
    for (int r = 0; r < 8; ++r) {
      std::byte* to = rows.at[8 * m + r];
      if (!to) continue;
      std::memcpy(to, s.v[r], kRowBytes);
      w.mark_initialised(to, kRowBytes);
      w.environment().watch().written(to, kRowBytes);
    }
  }
  w.note_effect();
}

const Inst* run_matrices(Warp& w, const Inst& i) {
  Operands o(w, i);
  if ((w.present() & ~w.exited()) != w.exec) return select({o.inst()})(w, i);
  switch (o.inst().form) {
    case Form::ldmatrix:
      load_matrices(w, i, o);
      break;
    case Form::stmatrix:
      store_matrices(w, i, o);
      break;
    case Form::movmatrix:
      write_square(o, w, 0, read_square(o, 1, 0).transposed());
      break;
    default:
      multiply_add(o, w);
      break;
  }
  return &i + 1;
}

}  // namespace

Exec matrix_handler(const Selection& s) {
  switch (s.inst.form) {
    case Form::mma_sync:
    case Form::mma_sync_b1:
    case Form::ldmatrix:
    case Form::stmatrix:
    case Form::movmatrix:
      return run_matrices;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
