// Tensor cores of one warp: PTX ISA, "Warp-level matrix instructions" (mma.sync, ldmatrix, stmatrix, movmatrix).
//
// How mma adds: the exact products of a row and a column are added to the accumulator in double precision, in order of
// k, and the sum is rounded once to nearest even. Hardware adds in groups with fewer bits and truncates, in a way that
// differs between generations; this is between all of them, and the same on every host.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simt/exec/exec_mma.cpp"
#include <hwy/foreach_target.h>

#include <cstring>

#include "num/arith.h"
#include "num/half.h"
#include "num/small_float.h"
#include "simt/exec/access.h"
#include "simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

// mma

constexpr uint32_t kM = 16, kN = 8;

// Kinds of elements: the bits in a register, and their value.
struct F16 {
  using Bits = uint16_t;
  static float value(Bits x) { return num::f16_to_f32(x); }
};
struct Bf16 {
  using Bits = uint16_t;
  static float value(Bits x) { return num::bf16_to_f32(x); }
};
struct Tf32 {
  using Bits = uint32_t;
  static float value(Bits x) { return num::tf32_to_f32(x); }
};
struct E4m3 {
  using Bits = uint8_t;
  static float value(Bits x) { return num::e4m3_to_f32(x); }
};
struct E5m2 {
  using Bits = uint8_t;
  static float value(Bits x) { return num::e5m2_to_f32(x); }
};

// The 32 registers of a row hold 8 groups of 4 lanes; the elements of one group are neighbours along k. So the row is
// an 8 × (4 · elements per register) piece of the matrix, in order.
template <class E>
struct Fragment {
  static constexpr uint32_t kPerRegister = 4 / sizeof(typename E::Bits);
  static constexpr uint32_t kWidth = 4 * kPerRegister;

  double v[8][kWidth];

  HWY_INLINE void load(const Warp& w, int32_t row) {
    typename E::Bits bits[8 * kWidth];
    std::memcpy(bits, w.src<std::byte>(row), sizeof bits);
    float values[8 * kWidth];
    for (uint32_t k = 0; k < 8 * kWidth; ++k) values[k] = E::value(bits[k]);
    for (uint32_t k = 0; k < 8 * kWidth; ++k) v[k / kWidth][k % kWidth] = static_cast<double>(values[k]);
  }
};

// A is 16 × K: registers 0, 2 are its upper eight rows, 1, 3 the lower; 2, 3 the second half of its columns.
template <class E, uint32_t kK>
HWY_INLINE void load_a(const Warp& w, const int32_t* rows, double (&a)[kM][kK]) {
  constexpr uint32_t kWidth = Fragment<E>::kWidth;
  for (uint32_t r = 0; r < 2 * kK / kWidth; ++r) {
    Fragment<E> f;
    f.load(w, rows[r]);
    for (uint32_t m = 0; m < 8; ++m) std::memcpy(&a[m + 8 * (r % 2)][kWidth * (r / 2)], f.v[m], sizeof f.v[m]);
  }
}

// B is K × 8, held by columns.
template <class E, uint32_t kK>
HWY_INLINE void load_b(const Warp& w, const int32_t* rows, double (&b)[kK][kN]) {
  constexpr uint32_t kWidth = Fragment<E>::kWidth;
  for (uint32_t r = 0; r < kK / kWidth; ++r) {
    Fragment<E> f;
    f.load(w, rows[r]);
    for (uint32_t k = 0; k < kWidth; ++k) {
      for (uint32_t n = 0; n < kN; ++n) b[kWidth * r + k][n] = f.v[n][k];
    }
  }
}

// Accumulators: lane 4g + t holds columns 2t and 2t + 1 of rows g and g + 8.
using Accumulator = double[kM][kN];

// As f32: four registers.
struct InF32 {
  static void load(const Warp& w, const int32_t* rows, Accumulator& c) {
    for (uint32_t r = 0; r < 4; ++r) {
      const auto* values = w.src<float>(rows[r]);
      for (uint32_t l = 0; l < kLanes; ++l) c[l / 4 + 8 * (r / 2)][l % 4 * 2 + r % 2] = static_cast<double>(values[l]);
    }
  }
  static void store(Warp& w, const int32_t* rows, const Accumulator& c) {
    for (uint32_t r = 0; r < 4; ++r) {
      float values[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) {
        values[l] = num::canonical(static_cast<float>(c[l / 4 + 8 * (r / 2)][l % 4 * 2 + r % 2]));
      }
      map_lanes<float>(w.exec, w.row<float>(rows[r]), [](float v) { return v; }, values);
    }
  }
};

// As f16: two registers of pairs.
struct InF16 {
  static void load(const Warp& w, const int32_t* rows, Accumulator& c) {
    for (uint32_t r = 0; r < 2; ++r) {
      const auto* pairs = w.src<uint32_t>(rows[r]);
      for (uint32_t l = 0; l < kLanes; ++l) {
        c[l / 4 + 8 * r][l % 4 * 2] = num::f16_to_f64(num::lower_half(pairs[l]));
        c[l / 4 + 8 * r][l % 4 * 2 + 1] = num::f16_to_f64(num::upper_half(pairs[l]));
      }
    }
  }
  static void store(Warp& w, const int32_t* rows, const Accumulator& c) {
    for (uint32_t r = 0; r < 2; ++r) {
      uint32_t pairs[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) {
        const double* at = &c[l / 4 + 8 * r][l % 4 * 2];
        pairs[l] = num::pack_halves(num::f64_to_f16<>(at[1]), num::f64_to_f16<>(at[0]));
      }
      map_lanes<uint32_t>(w.exec, w.row<uint32_t>(rows[r]), [](uint32_t v) { return v; }, pairs);
    }
  }
};

template <uint32_t kK>
HWY_INLINE void multiply(const double (&a)[kM][kK], const double (&b)[kK][kN], Accumulator& c) {
  for (uint32_t m = 0; m < kM; ++m) {
    for (uint32_t k = 0; k < kK; ++k) {
      for (uint32_t n = 0; n < kN; ++n) c[m][n] += a[m][k] * b[k][n];
    }
  }
}

// D = A × B + C, operands 0, 1, 2, 3.
template <class A, class B, uint32_t kK, class C>
const Inst* multiply_add(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  alignas(64) double a[kM][kK];
  alignas(64) double b[kK][kN];
  alignas(64) Accumulator c;
  load_a<A, kK>(w, i.list + i.op[1], a);
  load_b<B, kK>(w, i.list + i.op[2], b);
  C::load(w, i.list + i.op[3], c);
  multiply<kK>(a, b, c);
  C::store(w, i.list + i.op[0], c);
  return &i + 1;
}

template <class A, class B, uint32_t kK>
Exec by_accumulator(const ptx::Instruction& inst) {
  if (inst.type(0) != inst.type(3)) return nullptr;
  if (inst.type(0) == ptx::Type::f32) return &multiply_add<A, B, kK, InF32>;
  if constexpr (!std::is_same_v<A, Bf16> && !std::is_same_v<A, Tf32>) {
    if (inst.type(0) == ptx::Type::f16) return &multiply_add<A, B, kK, InF16>;
  }
  return nullptr;
}

// kShort and kLong are the depths of m16n8k… that the element type has.
template <class A, class B, uint32_t kShort, uint32_t kLong>
Exec by_depth(const ptx::Instruction& inst) {
  using ptx::Mod;
  uint32_t depth = 0;
  if (inst.has(Mod::m16n8k4)) depth = 4;
  if (inst.has(Mod::m16n8k8)) depth = 8;
  if (inst.has(Mod::m16n8k16)) depth = 16;
  if (inst.has(Mod::m16n8k32)) depth = 32;
  if (depth == kShort) return by_accumulator<A, B, kShort>(inst);
  if (depth == kLong) return by_accumulator<A, B, kLong>(inst);
  return nullptr;
}

}  // namespace

FB_EXEC(mma_sync) {
  using ptx::Type;
  const Type a = s.inst.type(1), b = s.inst.type(2);
  if (s.inst.has(ptx::Mod::satfinite)) return nullptr;
  if (a == Type::f16 && b == a) return by_depth<F16, F16, 8, 16>(s.inst);
  if (a == Type::bf16 && b == a) return by_depth<Bf16, Bf16, 8, 16>(s.inst);
  if (a == Type::tf32 && b == a) return by_depth<Tf32, Tf32, 4, 8>(s.inst);
  if (a == Type::e4m3 && b == a) return by_depth<E4m3, E4m3, 16, 32>(s.inst);
  if (a == Type::e5m2 && b == a) return by_depth<E5m2, E5m2, 16, 32>(s.inst);
  if (a == Type::e4m3 && b == Type::e5m2) return by_depth<E4m3, E5m2, 16, 32>(s.inst);
  if (a == Type::e5m2 && b == Type::e4m3) return by_depth<E5m2, E4m3, 16, 32>(s.inst);
  return nullptr;  // integers, f64, and the older shapes
}

// Matrices of 8 × 8 16-bit elements

namespace {

// As memory has it: row by row. Lane 4r + t holds elements 2t and 2t + 1 of row r in one register; with .trans, of
// column r.
struct Matrix {
  uint16_t v[8][8];

  HWY_INLINE void to_registers(bool transposed, uint32_t* pairs) const {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t r = l / 4, t = l % 4 * 2;
      pairs[l] = transposed ? num::pack_halves(v[t + 1][r], v[t][r]) : num::pack_halves(v[r][t + 1], v[r][t]);
    }
  }
  HWY_INLINE void from_registers(bool transposed, const uint32_t* pairs) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t r = l / 4, t = l % 4 * 2;
      (transposed ? v[t][r] : v[r][t]) = num::lower_half(pairs[l]);
      (transposed ? v[t + 1][r] : v[r][t + 1]) = num::upper_half(pairs[l]);
    }
  }
};

HWY_INLINE void write_pairs(Warp& w, int32_t row, const uint32_t* pairs) {
  map_lanes<uint32_t>(w.exec, w.row<uint32_t>(row), [](uint32_t v) { return v; }, pairs);
}

// Lane 8m + r has the address of row r of matrix m; addresses of further lanes are not looked at.
template <uint32_t kCount>
constexpr Mask kAddressLanes = kCount == 4 ? kAllLanes : (Mask{1} << (8 * kCount % 32)) - 1;

// The rows' host addresses, read before any register is written: destinations may hold the addresses.
template <uint32_t kCount, ptx::Space kSpace>
void find_rows(Warp& w, const Inst& i, int k, AccessKind kind, std::byte** rows) {
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, k, buffer);
  const Mask all = w.exec;
  w.exec &= kAddressLanes<kCount>;
  if (w.exec != 0) report_access(w, i, kind, kSpace, a, 16);
  w.exec = all;
  for (uint32_t l = 0; l < 8 * kCount; ++l) {
    rows[l] = lane_in(all, l) ? w.resolve(i, kSpace, l, a[l], 16) : nullptr;
    if (kind == AccessKind::load && rows[l] && w.recording) w.note_read(rows[l], a[l], 16, i);
  }
}

template <uint32_t kCount, bool kTransposed, ptx::Space kSpace>
const Inst* load_matrices(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  std::byte* rows[8 * kCount];
  find_rows<kCount, kSpace>(w, i, 1, AccessKind::load, rows);
  for (uint32_t m = 0; m < kCount; ++m) {
    Matrix matrix{};
    for (uint32_t r = 0; r < 8; ++r) {
      if (rows[8 * m + r]) std::memcpy(matrix.v[r], rows[8 * m + r], 16);
    }
    uint32_t pairs[kLanes];
    matrix.to_registers(kTransposed, pairs);
    write_pairs(w, i.list[i.op[0] + static_cast<int32_t>(m)], pairs);
  }
  return &i + 1;
}

template <uint32_t kCount, bool kTransposed, ptx::Space kSpace>
const Inst* store_matrices(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  std::byte* rows[8 * kCount];
  find_rows<kCount, kSpace>(w, i, 0, AccessKind::store, rows);
  for (uint32_t m = 0; m < kCount; ++m) {
    Matrix matrix;
    matrix.from_registers(kTransposed, w.src<uint32_t>(i.list[i.op[1] + static_cast<int32_t>(m)]));
    for (uint32_t r = 0; r < 8; ++r) {
      std::byte* to = rows[8 * m + r];
      if (!to) continue;
      std::memcpy(to, matrix.v[r], 16);
      w.mark_initialised(to, 16);
      w.environment().watch().written(to, 16);
    }
  }
  w.note_effect();
  return &i + 1;
}

// f<count, transposed, space>().
template <class F>
Exec by_matrices(const ptx::Instruction& inst, F f) {
  const auto with_space = [&]<uint32_t kCount, bool kTransposed>() -> Exec {
    return inst.spaces.empty() ? f.template operator()<kCount, kTransposed, ptx::Space::generic>()
                               : f.template operator()<kCount, kTransposed, ptx::Space::shared>();
  };
  const auto with_trans = [&]<uint32_t kCount>() -> Exec {
    return inst.has(ptx::Mod::trans) ? with_space.template operator()<kCount, true>()
                                     : with_space.template operator()<kCount, false>();
  };
  if (inst.has(ptx::Mod::x4)) return with_trans.template operator()<4>();
  if (inst.has(ptx::Mod::x2)) return with_trans.template operator()<2>();
  return with_trans.template operator()<1>();
}

}  // namespace

FB_EXEC(ldmatrix) {
  return by_matrices(s.inst, []<uint32_t kCount, bool kTransposed, ptx::Space kSpace>() -> Exec {
    return &load_matrices<kCount, kTransposed, kSpace>;
  });
}

FB_EXEC(stmatrix) {
  return by_matrices(s.inst, []<uint32_t kCount, bool kTransposed, ptx::Space kSpace>() -> Exec {
    return &store_matrices<kCount, kTransposed, kSpace>;
  });
}

FB_EXEC(movmatrix) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    const Inst* next = nullptr;
    if (!w.gather(i, kAllLanes, next)) return next;
    Matrix matrix;
    matrix.from_registers(false, w.src<uint32_t>(i.op[1]));
    uint32_t pairs[kLanes];
    matrix.to_registers(true, pairs);
    write_pairs(w, i.op[0], pairs);
    return &i + 1;
  };
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
