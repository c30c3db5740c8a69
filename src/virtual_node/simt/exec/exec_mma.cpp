// Tensor cores of one warp: PTX ISA, "Warp-level matrix instructions" (mma.sync, ldmatrix, stmatrix, movmatrix). How
// mma adds is said in virtual_node/num/tensor/tensor_engine.h.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_mma.cpp"
#include <hwy/foreach_target.h>

#include <bit>
#include <cstring>
#include <optional>

#include "common/ptx/matrix_shape.h"
#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"
#include "virtual_node/num/tensor/tensor_engine.h"
#include "virtual_node/simt/exec/access.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/exec/tensor_sums.h"
#include "virtual_node/simt/tensor/tensor_elements.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

using num::tensor::Element;

// mma

struct Factors {
  Element a, b;
};

struct Form {
  uint8_t words;  // along K
  uint8_t rows;   // 16, or 8
  Sum sum;
};

constexpr uint32_t kMostRegisters = 8;
alignas(64) constexpr uint32_t kNoWords[kLanes] = {};

// Of registers, in any bit of any lane.
class Differences {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
 public:
  void add(const uint32_t* x, const uint32_t* y) { any_ |= std::memcmp(x, y, kLanes * sizeof *x); }
  bool none() const { return any_ == 0; }

 private:
  int any_ = 0;
#else
  using Tag = hwy::HWY_NAMESPACE::CappedTag<uint32_t, kLanes>;
  static constexpr uint32_t kStep = static_cast<uint32_t>(hwy::HWY_NAMESPACE::MaxLanes(Tag()));

 public:
  HWY_INLINE Differences() : any_(hwy::HWY_NAMESPACE::Zero(Tag())) {}
  HWY_INLINE void add(const uint32_t* x, const uint32_t* y) {
    namespace hn = hwy::HWY_NAMESPACE;
    for (uint32_t l = 0; l < kLanes; l += kStep)
      any_ = hn::Or(any_, hn::Xor(hn::LoadU(Tag(), x + l), hn::LoadU(Tag(), y + l)));
  }
  HWY_INLINE bool none() const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::AllTrue(Tag(), hn::Eq(any_, hn::Zero(Tag())));
  }

 private:
  hwy::HWY_NAMESPACE::Vec<Tag> any_;
#endif
};

// Programs have runs of mma instructions that share factors, and an engine is faster at many products than at one: the
// first of a run computes the sums of all. They are results kept with their factors: whatever happens in between, they
// are used for equal factors only.
class ProductsAhead {
 public:
  // Of the instruction; null: they are not known, and the run is too short.
  HWY_INLINE const num::tensor::Sums* sums_of(const Warp& w, const Inst& i, Factors factors, uint32_t words) {
    if (next_ < count_ && i.run == run_ && same_factors(w, i, words)) return &sums_[next_++];
    // Runs that were not used to their end, as other warps came in between, are not worth beginning.
    if (next_ < count_) credit_ = -8 * static_cast<int32_t>(count_ - next_);
    next_ = count_ = 0;
    if (credit_ < 0) {
      ++credit_;
      return nullptr;
    }
    const Inst* end = &i + 1;
    const Inst* last = w.program().code.data() + w.program().code.size();
    while (end != last && end != &i + kMost && end->run == i.run && end->guard == kAbsent) ++end;
    if (end == &i + 1) return nullptr;
    run_ = i.run;
    compute(w, &i, end, factors, words);
    return &sums_[next_++];
  }

 private:
  static constexpr uint32_t kMost = 16;

  struct Kept {
    int32_t rows[4];
    alignas(64) uint32_t words[4][kLanes];
    num::tensor::Factor factor;
  };

  // Index of the factor in registers `rows`, kept and prepared.
  template <class Prepare>
  static HWY_INLINE uint32_t keep(const Warp& w, Kept* kept, uint32_t& count, const int32_t* rows, uint32_t registers,
                                  Prepare prepare) {
    for (uint32_t k = count; k-- > 0;) {
      if (std::memcmp(kept[k].rows, rows, registers * sizeof *rows) == 0) return k;
    }
    Kept& to = kept[count];
    const uint32_t* words[4];
    for (uint32_t r = 0; r < registers; ++r) {
      to.rows[r] = rows[r];
      words[r] = to.words[r];
      std::memcpy(to.words[r], w.src<uint32_t>(rows[r]), sizeof to.words[r]);
    }
    prepare(words, to.factor);
    return count++;
  }

  HWY_NOINLINE void compute(const Warp& w, const Inst* first, const Inst* end, Factors elements, uint32_t words_of_k) {
    const num::tensor::Engine& engine = num::tensor::engine();
    const num::tensor::Factor *as[kMost], *bs[kMost];
    uint32_t count_of_a = 0, count_of_b = 0;
    for (const Inst* i = first; i != end; ++i, ++count_) {
      a_[count_] = keep(
          w, kept_a_, count_of_a, i->list + i->op[1], words_of_k / 2,
          [&](const uint32_t** words, num::tensor::Factor& f) { engine.prepare_a(elements.a, words_of_k, words, f); });
      b_[count_] = keep(
          w, kept_b_, count_of_b, i->list + i->op[2], words_of_k / 4,
          [&](const uint32_t** words, num::tensor::Factor& f) { engine.prepare_b(elements.b, words_of_k, words, f); });
      as[count_] = &kept_a_[a_[count_]].factor;
      bs[count_] = &kept_b_[b_[count_]].factor;
    }
    engine.multiply_many(as, bs, sums_, count_);
  }

  HWY_INLINE bool same_factors(const Warp& w, const Inst& i, uint32_t words) const {
    const Kept& a = kept_a_[a_[next_]];
    const Kept& b = kept_b_[b_[next_]];
    Differences differences;
    for (uint32_t r = 0; r < words / 2; ++r) differences.add(w.src<uint32_t>(i.list[i.op[1] + r]), a.words[r]);
    for (uint32_t r = 0; r < words / 4; ++r) differences.add(w.src<uint32_t>(i.list[i.op[2] + r]), b.words[r]);
    return differences.none();
  }

  Exec run_ = nullptr;
  uint32_t next_ = 0, count_ = 0;
  int32_t credit_ = 0;
  uint32_t a_[kMost], b_[kMost];
  Kept kept_a_[kMost], kept_b_[kMost];
  num::tensor::Sums sums_[kMost];
};

thread_local ProductsAhead products_ahead;

// D = A × B + C, operands 0, 1, 2, 3. By form: what the elements of A and B are matters to the tensor engine only.
template <Form kForm>
HWY_NOINLINE const Inst* multiply_add(Warp& w, const Inst& i, Factors factors) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  constexpr bool kFullRows = kForm.rows == num::tensor::kRows;
  if (kFullRows && w.exec == kAllLanes) {
    if (const num::tensor::Sums* known = products_ahead.sums_of(w, i, factors, kForm.words)) {
      add_sums(w, i.list + i.op[0], i.list + i.op[3], kForm.sum, kForm.rows, *known);
      return &i + 1;
    }
  }
  const num::tensor::Engine& engine = num::tensor::engine();
  const uint32_t *a[kMostRegisters], *b[kMostRegisters];
  for (uint32_t r = 0; r < kForm.words / 2u; ++r) {
    const bool there = kFullRows || r % 2 == 0;
    a[r] = there ? w.src<uint32_t>(i.list[i.op[1] + (kFullRows ? r : r / 2)]) : kNoWords;
  }
  for (uint32_t r = 0; r < kForm.words / 4u; ++r) b[r] = w.src<uint32_t>(i.list[i.op[2] + r]);
  num::tensor::Factor fa, fb;
  num::tensor::Sums sums;
  engine.prepare_a(factors.a, kForm.words, a, fa);
  engine.prepare_b(factors.b, kForm.words, b, fb);
  engine.multiply(fa, fb, sums);
  add_sums(w, i.list + i.op[0], i.list + i.op[3], kForm.sum, kForm.rows, sums);
  return &i + 1;
}

template <Element kA, Element kB, Form kForm>
const Inst* run_product(Warp& w, const Inst& i) {
  return multiply_add<kForm>(w, i, {kA, kB});
}

// The depths of m16n8k… have 4 or 8 words of 32 bits along K; m8n8k… has 4.
template <Element kA, Element kB, Sum kSum>
Exec by_depth(uint32_t words, uint32_t rows) {
  if (rows == 8) return words == 4 && is_integer(kA) ? &run_product<kA, kB, Form{4, 8, kSum}> : nullptr;
  if (words == 4) return &run_product<kA, kB, Form{4, 16, kSum}>;
  return words == 8 ? &run_product<kA, kB, Form{8, 16, kSum}> : nullptr;
}

template <Element kA, Element kB>
Exec by_sum(const ptx::Instruction& inst, uint32_t words, uint32_t rows) {
  using ptx::Type;
  if (inst.type(0) != inst.type(3)) return nullptr;
  const bool saturated = inst.has(ptx::Mod::satfinite);
  if constexpr (is_integer(kA)) {
    if (inst.type(0) != Type::s32) return nullptr;
    return saturated ? by_depth<kA, kB, Sum::saturated_s32>(words, rows) : by_depth<kA, kB, Sum::s32>(words, rows);
  } else {
    if (saturated) return nullptr;
    if (inst.type(0) == Type::f32) return by_depth<kA, kB, Sum::f32>(words, rows);
    if constexpr (kA != Element::bf16 && kA != Element::tf32) {
      if (inst.type(0) == Type::f16) return by_depth<kA, kB, Sum::f16>(words, rows);
    }
    return nullptr;
  }
}

template <Element kA, Element kB, Element... kMore>
Exec by_factors(const ptx::Instruction& inst, Element a, Element b, uint32_t words, uint32_t rows) {
  if (a == kA && b == kB) return by_sum<kA, kB>(inst, words, rows);
  if constexpr (sizeof...(kMore) > 0) return by_factors<kMore...>(inst, a, b, words, rows);
  return nullptr;
}

// f64: the products are added to C in order of k, each by one fused multiply-add. A row of a register is 8 × 4 elements
// of A, 4 × 8 of B by columns, and for C columns 2t (+ 1) of 8 rows.
template <uint32_t kRows, uint32_t kDepth>
const Inst* multiply_add_f64(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  constexpr uint32_t kHalves = kRows / 8;
  double a[kRows][kDepth], b[kDepth][8], c[kRows][8];
  for (uint32_t r = 0; r < kHalves * kDepth / 4; ++r) {
    const auto* row = w.src<double>(i.list[i.op[1] + r]);
    for (uint32_t l = 0; l < kLanes; ++l) a[l / 4 + 8 * (r % kHalves)][l % 4 + 4 * (r / kHalves)] = row[l];
  }
  for (uint32_t r = 0; r < kDepth / 4; ++r) {
    const auto* row = w.src<double>(i.list[i.op[2] + r]);
    for (uint32_t l = 0; l < kLanes; ++l) b[l % 4 + 4 * r][l / 4] = row[l];
  }
  for (uint32_t r = 0; r < kHalves * 2; ++r) {
    const auto* row = w.src<double>(i.list[i.op[3] + r]);
    for (uint32_t l = 0; l < kLanes; ++l) c[l / 4 + 8 * (r / 2)][l % 4 * 2 + r % 2] = row[l];
  }
  num::tensor::engine().multiply_f64(&a[0][0], &b[0][0], &c[0][0], kRows, kDepth);
  for (uint32_t r = 0; r < kHalves * 2; ++r) {
    auto* row = w.row<double>(i.list[i.op[0] + r]);
    each_lane(w.exec, [&](uint32_t l) { row[l] = num::canonical(c[l / 4 + 8 * (r / 2)][l % 4 * 2 + r % 2]); });
  }
  return &i + 1;
}

Exec select_f64(const ptx::Instruction& inst, const ptx::MatrixShape& shape) {
  if (inst.type(0) != ptx::Type::f64 || inst.type(3) != ptx::Type::f64) return nullptr;
  if (shape.m == 8) return shape.k == 4 ? &multiply_add_f64<8, 4> : nullptr;
  if (shape.k == 4) return &multiply_add_f64<16, 4>;
  if (shape.k == 8) return &multiply_add_f64<16, 8>;
  return shape.k == 16 ? &multiply_add_f64<16, 16> : nullptr;
}

// Bits: the sums count those that both factors have, or those in which they differ.
template <uint32_t kRows, uint32_t kWords, bool kXor>
const Inst* multiply_add_bits(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  constexpr uint32_t kHalves = kRows / 8;
  uint32_t a[kRows][kWords], b[8][kWords];
  for (uint32_t r = 0; r < kHalves * kWords / 4; ++r) {
    const auto* row = w.src<uint32_t>(i.list[i.op[1] + r]);
    for (uint32_t l = 0; l < kLanes; ++l) a[l / 4 + 8 * (r % kHalves)][l % 4 + 4 * (r / kHalves)] = row[l];
  }
  for (uint32_t r = 0; r < kWords / 4; ++r) {
    const auto* row = w.src<uint32_t>(i.list[i.op[2] + r]);
    for (uint32_t l = 0; l < kLanes; ++l) b[l / 4][l % 4 + 4 * r] = row[l];
  }
  uint32_t d[kHalves * 2][kLanes];
  for (uint32_t r = 0; r < kHalves * 2; ++r) {
    const auto* c = w.src<uint32_t>(i.list[i.op[3] + r]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      d[r][l] = c[l];
      for (uint32_t k = 0; k < kWords; ++k) {
        const uint32_t x = a[l / 4 + 8 * (r / 2)][k], y = b[l % 4 * 2 + r % 2][k];
        d[r][l] += static_cast<uint32_t>(std::popcount(kXor ? x ^ y : x & y));
      }
    }
  }
  for (uint32_t r = 0; r < kHalves * 2; ++r) write_words(w, i.list[i.op[0] + r], d[r]);
  return &i + 1;
}

}  // namespace

FB_EXEC(mma_sync) {
  const auto shape = ptx::matrix_shape(s.inst);
  const ptx::Type type = s.inst.type(1);
  if (!shape) return nullptr;
  if (type == ptx::Type::f64 && s.inst.type(2) == type) return select_f64(s.inst, *shape);
  const auto a = tensor_element(type), b = tensor_element(s.inst.type(2));
  if (!a || !b) return nullptr;
  const uint32_t words = shape->k / elements_in_word(*a);
  using enum Element;
  return by_factors<f16, f16, bf16, bf16, tf32, tf32, e4m3, e4m3, e4m3, e5m2, e5m2, e4m3, e5m2, e5m2, s8, s8, s8, u8,
                    u8, s8, u8, u8, s4, s4, s4, u4, u4, s4, u4, u4>(s.inst, *a, *b, words, shape->m);
}

FB_EXEC(mma_sync_b1) {
  const auto shape = ptx::matrix_shape(s.inst);
  if (!shape) return nullptr;
  const bool differ = s.inst.has(ptx::Mod::xor_);
  if (shape->m == 8) return differ ? &multiply_add_bits<8, 4, true> : &multiply_add_bits<8, 4, false>;
  if (shape->k == 128) return differ ? &multiply_add_bits<16, 4, true> : &multiply_add_bits<16, 4, false>;
  return differ ? &multiply_add_bits<16, 8, true> : &multiply_add_bits<16, 8, false>;
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
    write_words(w, i.list[i.op[0] + static_cast<int32_t>(m)], pairs);
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
    write_words(w, i.op[0], pairs);
    return &i + 1;
  };
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
