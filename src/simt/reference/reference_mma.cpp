// The slow engine: mma.sync, ldmatrix, stmatrix and movmatrix, element by element from the figures of the PTX manual.
// Waiting for the lanes of the warp is the fast engine's.

#include <cstring>

#include "simt/block.h"
#include "simt/environment.h"
#include "simt/reference/reference_operands.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

constexpr uint32_t kRows = 16, kColumns = 8, kMostDepth = 32;

const Format& element_format(Type type) { return type == Type::tf32 ? kTf32 : format_of(type); }

// Bits that an element takes up in a register; tf32 has its low 13 bits unused.
uint32_t element_bits(Type type) {
  return type == Type::tf32 ? 32 : static_cast<uint32_t>(total_bits(format_of(type)));
}

uint64_t element_code(Bits reg, uint32_t index, Type type) {
  const uint32_t bits = element_bits(type);
  const auto code = static_cast<uint64_t>(low(reg >> (index * bits), bits));
  return type == Type::tf32 ? code >> 13 : code;
}

struct Matrices {
  Number a[kRows][kMostDepth], b[kMostDepth][kColumns], c[kRows][kColumns];
  uint32_t depth = 0;
};

// Group g = lane / 4 is a row of A and a column of B, t = lane % 4 counts along the depth.
void read_factors(const Operands& o, Matrices& m) {
  const Type a = o.inst().type(1), b = o.inst().type(2);
  const uint32_t in_register = 32 / element_bits(a);
  m.depth = 4 * in_register * static_cast<uint32_t>(o.count(1)) / 2;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t k = 0; k < in_register; ++k) {
      for (uint32_t r = 0; r < static_cast<uint32_t>(o.count(1)); ++r) {
        const uint64_t code = element_code(o.read(1, lane, static_cast<int>(r)), k, a);
        m.a[g + 8 * (r % 2)][t * in_register + k + 4 * in_register * (r / 2)] = decode(code, element_format(a));
      }
      for (uint32_t r = 0; r < static_cast<uint32_t>(o.count(2)); ++r) {
        const uint64_t code = element_code(o.read(2, lane, static_cast<int>(r)), k, b);
        m.b[t * in_register + k + 4 * in_register * r][g] = decode(code, element_format(b));
      }
    }
  }
}

// f(lane, register, index in the register, row, column) for every element of an accumulator: rows g and g + 8, columns
// 2t and 2t + 1; two elements share a register in f16.
template <class F>
void each_accumulator(Type type, F f) {
  const uint32_t in_register = type == Type::f16 ? 2 : 1;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t n = 0; n < 4; ++n) {
      f(lane, static_cast<int>(n / in_register), n % in_register, lane / 4 + 8 * (n / 2), lane % 4 * 2 + n % 2);
    }
  }
}

// Products are exact; each addition rounds to double precision, in the order of the depth; the sum rounds once more.
Number dot(const Matrices& m, uint32_t row, uint32_t column) {
  Number sum = m.c[row][column];
  for (uint32_t k = 0; k < m.depth; ++k) {
    const Number next = add(sum, multiply(m.a[row][k], m.b[k][column]), Rounding::nearest_even);
    sum = decode(encode(next, kF64, Rounding::nearest_even), kF64);
  }
  return sum;
}

void multiply_add(Operands& o, const Warp& w) {
  const Type type = o.inst().type(0);
  const Format& f = format_of(type);
  Matrices m;
  read_factors(o, m);
  each_accumulator(type, [&](uint32_t lane, int reg, uint32_t index, uint32_t row, uint32_t column) {
    m.c[row][column] = decode(element_code(o.read(3, lane, reg), index, type), f);
  });
  Bits d[kLanes][4] = {};
  each_accumulator(type, [&](uint32_t lane, int reg, uint32_t index, uint32_t row, uint32_t column) {
    d[lane][reg] |= Bits{encode(dot(m, row, column), f, Rounding::nearest_even)} << (16 * index);
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
    case Form::ldmatrix:
    case Form::stmatrix:
    case Form::movmatrix:
      return run_matrices;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
