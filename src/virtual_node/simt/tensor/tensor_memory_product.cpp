#include "virtual_node/simt/tensor/tensor_memory_product.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"
#include "virtual_node/num/small_float.h"
#include "virtual_node/num/tensor/portable_engine.h"
#include "virtual_node/simt/block.h"

namespace fb::simt {
namespace {

using num::tensor::Element;
using num::tensor::Factor;
using num::tensor::Sums;
using ptx::Mod;

constexpr uint32_t kRows = num::tensor::kRows, kColumns = num::tensor::kColumns, kThreads = num::tensor::kThreads;
constexpr uint32_t kWords = 8;  // of a row, along K

uint32_t field(uint32_t word, int first, int bits) { return word >> first & ((1u << bits) - 1); }

// Codes of element types, by kind.
std::optional<Element> element_of(const ptx::Instruction& inst, uint32_t code) {
  if (inst.has(Mod::kind_f16)) {
    if (code > 1) return std::nullopt;
    return code == 0 ? Element::f16 : Element::bf16;
  }
  if (inst.has(Mod::kind_tf32)) return code == 2 ? std::optional(Element::tf32) : std::nullopt;
  if (inst.has(Mod::kind_i8)) {
    if (code > 1) return std::nullopt;
    return code == 0 ? Element::u8 : Element::s8;
  }
  if (inst.has(Mod::kind_mxf4) || inst.has(Mod::kind_mxf4nvf4)) {
    return code == 1 ? std::optional(Element::packed_e2m1) : std::nullopt;
  }
  switch (code) {
    case 0:
      return Element::e4m3;
    case 1:
      return Element::e5m2;
    case 3:
      return Element::e2m3;
    case 4:
      return Element::e3m2;
    case 5:
      return Element::e2m1;
    default:
      return std::nullopt;
  }
}

bool is_scaled(const ptx::Instruction& inst) { return inst.has(Mod::block_scale); }

bool read_scales(const ptx::Instruction& inst, uint32_t descriptor, TensorMemoryProduct& p) {
  const bool four = inst.has(Mod::scale_vec_4x) || inst.has(Mod::block16);
  const bool two = inst.has(Mod::scale_vec_2x);
  p.scale = field(descriptor, 23, 1) != 0 ? TensorMemoryProduct::Scale::ue8m0 : TensorMemoryProduct::Scale::ue4m3;
  p.scale_a_byte = field(descriptor, 29, 2);
  p.scale_b_byte = field(descriptor, 4, 2);
  if (inst.has(Mod::kind_mxf8f6f4)) {
    p.scales = 1;
    return !four && !two && p.scale == TensorMemoryProduct::Scale::ue8m0;
  }
  p.scales = four ? 4 : 2;  // K is 64
  if (inst.has(Mod::kind_mxf4) && (four || p.scale != TensorMemoryProduct::Scale::ue8m0)) return false;
  return p.scale_a_byte + p.scales <= 4 && p.scale_b_byte + p.scales <= 4;
}

bool read_sum(const ptx::Instruction& inst, uint32_t descriptor, TensorMemoryProduct& p) {
  const uint32_t code = field(descriptor, 4, 2);
  if (inst.has(Mod::kind_i8)) {
    p.sum = field(descriptor, 3, 1) != 0 ? TensorMemoryProduct::Sum::saturated_s32 : TensorMemoryProduct::Sum::s32;
    return code == 2;
  }
  p.sum = code == 0 ? TensorMemoryProduct::Sum::f16 : TensorMemoryProduct::Sum::f32;
  return code == 1 || (code == 0 && !inst.has(Mod::kind_tf32) && p.a != Element::bf16);
}

bool has_shape(const TensorMemoryProduct& p, bool pair) {
  if (p.n < 8 || p.n > 256) return false;
  if (pair) return (p.m == 128 || p.m == 256) && p.n % 16 == 0;
  return (p.m == 64 && p.n % 8 == 0) || (p.m == 128 && p.n % 16 == 0);
}

// Where row `row` and column n of the sums are in one block. A pair with 128 rows puts the upper half of the columns
// into the upper lanes.
TensorMemory::Place place_of(const TensorMemoryProduct& p, bool pair, const TensorMemory::Place& d, uint32_t row,
                             uint32_t n) {
  if (!pair && p.m == 64) return {d.lane + 32 * (row / 16) + row % 16, d.column + n};
  if (pair && p.m == 128 && n >= p.n / 2) return {d.lane + 64 + row, d.column + n - p.n / 2};
  return {d.lane + row, d.column + n};
}

// 16 elements of 4 or 6 bits at the front of each chunk, to bytes.
void expand(uint32_t (*registers)[kThreads], Element element) {
  const uint32_t bits = element == Element::e2m1 ? 4 : 6;
  if (element != Element::e2m1 && element != Element::e3m2 && element != Element::e2m3) return;
  for (uint32_t r = 0; r < 2; ++r) {
    for (uint32_t chunk = 0; chunk < kThreads; chunk += 4) {
      uint8_t from[16 + 1] = {}, to[16];
      std::memcpy(from, &registers[r][chunk], 16);
      for (uint32_t k = 0; k < 16; ++k) {
        const uint32_t at = k * bits, pair = from[at / 8] | static_cast<uint32_t>(from[at / 8 + 1]) << 8;
        to[k] = static_cast<uint8_t>(pair >> (at % 8) & ((1u << bits) - 1));
      }
      std::memcpy(&registers[r][chunk], to, 16);
    }
  }
}

uint32_t sign_bits(Element e) {
  switch (e) {
    case Element::tf32:
      return 0x80000000;
    case Element::f16:
    case Element::bf16:
      return 0x80008000;
    case Element::e3m2:
    case Element::e2m3:
      return 0x20202020;
    case Element::e2m1:
      return 0x08080808;
    case Element::packed_e2m1:
      return 0x88888888;
    default:
      return 0x80808080;
  }
}

class Multiplication {
 public:
  Multiplication(Warp& w, const Inst& i, uint32_t lane, const TensorMemoryProduct& p, const TensorMemoryOperands& o,
                 const std::vector<Block*>& blocks)
      : w_(w), i_(i), lane_(lane), p_(p), o_(o), blocks_(blocks), pair_(blocks.size() == 2) {}

  uint64_t run() {
    check();
    for (uint32_t rank = 0; rank < blocks_.size(); ++rank) multiply_rows_of(rank);
    return bytes_;
  }

 private:
  void check() {
    for (Block* block : blocks_) {
      TensorMemory& memory = block->tensor_memory();
      const uint32_t columns = pair_ && p_.m == 128 ? p_.n / 2 : p_.n;
      const bool sums = memory.holds(o_.d.column, columns) && place_of(p_, pair_, o_.d, rows() - 1, 0).lane < 128;
      const bool factor = !o_.a || (memory.holds(o_.a->column, kWords) && o_.a->lane == 0);
      const bool scales = p_.scales == 0 || (memory.holds(o_.scale_a.column, rows() / 32) &&
                                             memory.holds(o_.scale_b.column, (p_.n + 31) / 32));
      if (sums && factor && scales && o_.d.lane % 16 == 0) continue;
      w_.trap(TrapKind::out_of_bounds, i_, lane_, "an operand of tcgen05.mma is outside the allocated tensor memory");
    }
  }

  uint32_t rows() const { return p_.m / static_cast<uint32_t>(blocks_.size()); }

  SharedMatrix matrix(uint64_t descriptor, Element e, bool by_columns) {
    SharedMatrix m;
    if (!read_tcgen05_descriptor(descriptor, m)) {
      w_.trap(TrapKind::invalid_operand, i_, lane_,
              fmt::format("{:#x} is not a shared memory descriptor of tcgen05 that is supported", descriptor));
    }
    m.element_bytes = num::tensor::elements_in_word(e) == 8 ? 1 : 4 / num::tensor::elements_in_word(e);
    m.by_columns = by_columns;
    return m;
  }

  // Rows `first` … of A in the block.
  void load_a(MatrixReader& reader, Block& block, uint32_t first, uint32_t (&words)[4][kThreads]) {
    for (uint32_t half = 0; half < 2; ++half) {
      uint32_t rows[2][kThreads];
      if (o_.a) {
        for (uint32_t t = 0; t < kThreads; ++t) {
          const auto at = place_of(p_, pair_, *o_.a, first + 8 * half + t / 4, 0);
          for (uint32_t r = 0; r < 2; ++r) rows[r][t] = block.tensor_memory().at(at.lane, at.column + 4 * r + t % 4);
        }
      } else {
        reader.load(matrix(o_.a_descriptor, p_.a, p_.a_by_columns), first + 8 * half, rows);
        if (p_.padded) expand(rows, p_.a);
      }
      for (uint32_t r = 0; r < 2; ++r) std::memcpy(words[2 * r + half], rows[r], sizeof rows[r]);
    }
    if (!p_.negative) return;
    for (auto& row : words) {
      for (uint32_t& word : row) word ^= sign_bits(p_.a);
    }
  }

  float scale(Block& block, const TensorMemory::Place& at, uint32_t line, uint32_t byte) {
    const uint32_t word = block.tensor_memory().at(line % 32, at.column + line / 32);
    const auto code = static_cast<uint8_t>(word >> (8 * byte));
    return p_.scale == TensorMemoryProduct::Scale::ue8m0 ? num::ue8m0_to_f32(code) : num::e4m3_to_f32(code & 0x7f);
  }

  // Block-scaled factors as f32: every element with its scale. `halves`: registers of eight lines that belong together.
  void prepare_scaled(Block& block, Element element, const TensorMemory::Place& scales, uint32_t first_byte,
                      uint32_t first_line, uint32_t halves, const uint32_t (*words)[kThreads], Factor& factor,
                      void (*prepare)(Element, uint32_t, const uint32_t* const*, Factor&)) {
    const uint32_t per_word = num::tensor::elements_in_word(element), depth = p_.depth();
    uint32_t values[2 * num::tensor::kMostWords / 4][kThreads];
    const uint32_t* registers[2 * num::tensor::kMostWords / 4];
    for (uint32_t r = 0; r < halves * depth / 4; ++r) registers[r] = values[r];
    for (uint32_t r = 0; r < halves * 2; ++r) {
      for (uint32_t t = 0; t < kThreads; ++t) {
        const uint32_t line = first_line + 8 * (r % halves) + t / 4;
        for (uint32_t e = 0; e < per_word; ++e) {
          const uint32_t k = (4 * (r / halves) + t % 4) * per_word + e;
          const float value = num::tensor::element_value(element, words[r][t], e) *
                              scale(block, scales, line, first_byte + k * p_.scales / depth);
          values[k / 4 * halves + r % halves][t / 4 * 4 + k % 4] = std::bit_cast<uint32_t>(value);
        }
      }
    }
    prepare(Element::f32, depth, registers, factor);
  }

  void multiply_rows_of(uint32_t rank) {
    Block& block = *blocks_[rank];
    const num::tensor::Engine& engine = num::tensor::engine();
    MatrixReader reader(w_, i_, block, lane_);
    std::vector<Factor> a(rows() / kRows);
    for (uint32_t k = 0; k < a.size(); ++k) {
      uint32_t words[4][kThreads];
      load_a(reader, block, k * kRows, words);
      const uint32_t* registers[4] = {words[0], words[1], words[2], words[3]};
      if (p_.scales == 0) {
        engine.prepare_a(p_.a, kWords, registers, a[k]);
      } else {
        prepare_scaled(block, p_.a, o_.scale_a, p_.scale_a_byte, k * kRows, 2, words, a[k], engine.prepare_a);
      }
    }
    bytes_ += reader.bytes();
    const uint32_t here = p_.n / static_cast<uint32_t>(blocks_.size());  // columns of B in each block
    for (uint32_t n = 0; n < p_.n; n += kColumns) {
      Block& owner = *blocks_[n / here];
      MatrixReader columns(w_, i_, owner, lane_);
      uint32_t words[2][kThreads];
      columns.load(matrix(o_.b_descriptor, p_.b, p_.b_by_columns), n % here, words);
      if (p_.padded) expand(words, p_.b);
      const uint32_t* registers[2] = {words[0], words[1]};
      Factor b;
      if (p_.scales == 0) {
        engine.prepare_b(p_.b, kWords, registers, b);
      } else {
        prepare_scaled(block, p_.b, o_.scale_b, p_.scale_b_byte, n, 1, words, b, engine.prepare_b);
      }
      if (&owner == &block) bytes_ += columns.bytes();
      for (uint32_t k = 0; k < a.size(); ++k) {
        Sums sums;
        engine.multiply(a[k], b, sums);
        add(block, rank, k * kRows, n, sums);
      }
    }
  }

  void add(Block& block, uint32_t rank, uint32_t first_row, uint32_t n, const Sums& sums) {
    TensorMemory& memory = block.tensor_memory();
    for (uint32_t r = 0; r < 4; ++r) {
      for (uint32_t t = 0; t < kThreads; ++t) {
        const auto at = place_of(p_, pair_, o_.d, first_row + t / 4 + 8 * (r / 2), n + t % 4 * 2 + r % 2);
        if ((o_.disabled[4 * rank + at.lane / 32] >> (at.lane % 32) & 1) != 0) continue;
        uint32_t& cell = memory.at(at.lane, at.column);
        cell = sum(o_.adds ? cell : 0, sums.values[r][t]);
      }
    }
  }

  uint32_t sum(uint32_t c, float products) const {
    switch (p_.sum) {
      case TensorMemoryProduct::Sum::f32: {
        const float value = std::bit_cast<float>(c) * std::ldexp(1.0f, -static_cast<int>(o_.divide_by));
        return std::bit_cast<uint32_t>(num::canonical(value + products));
      }
      case TensorMemoryProduct::Sum::f16: {
        const float value = num::f16_to_f32(num::lower_half(c)) * std::ldexp(1.0f, -static_cast<int>(o_.divide_by));
        return num::f32_to_f16<>(value + products);
      }
      case TensorMemoryProduct::Sum::s32:
        return c + static_cast<uint32_t>(static_cast<int32_t>(products));
      case TensorMemoryProduct::Sum::saturated_s32: {
        const int64_t wide = int64_t{static_cast<int32_t>(c)} + static_cast<int32_t>(products);
        return static_cast<uint32_t>(wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : wide);
      }
    }
    return 0;
  }

  Warp& w_;
  const Inst& i_;
  uint32_t lane_;
  const TensorMemoryProduct& p_;
  const TensorMemoryOperands& o_;
  const std::vector<Block*>& blocks_;
  bool pair_;
  uint64_t bytes_ = 0;
};

}  // namespace

std::optional<TensorMemoryProduct> read_instruction_descriptor(const ptx::Instruction& inst, uint32_t descriptor) {
  TensorMemoryProduct p;
  const auto a = element_of(inst, field(descriptor, 7, 3));
  const auto b =
      element_of(inst, field(descriptor, 10, inst.has(Mod::kind_mxf4) || inst.has(Mod::kind_mxf4nvf4) ? 2 : 3));
  if (!a || !b || field(descriptor, 2, 1) != 0) return std::nullopt;
  p.a = *a;
  p.b = *b;
  if (elements_in_word(p.a) != elements_in_word(p.b)) return std::nullopt;
  p.negative = field(descriptor, 13, 1) != field(descriptor, 14, 1);
  p.a_by_columns = field(descriptor, 15, 1) != 0;
  p.b_by_columns = field(descriptor, 16, 1) != 0;
  p.n = field(descriptor, 17, 6) * 8;
  p.padded = inst.has(Mod::kind_f8f6f4) || inst.has(Mod::kind_mxf8f6f4);
  if (is_scaled(inst)) {
    p.m = field(descriptor, 27, 2) * 128;
    p.sum = TensorMemoryProduct::Sum::f32;
    if (!read_scales(inst, descriptor, p)) return std::nullopt;
    if (p.a == Element::packed_e2m1 && (p.a_by_columns || p.b_by_columns || field(descriptor, 31, 1) != 0)) {
      return std::nullopt;
    }
  } else {
    p.m = field(descriptor, 24, 5) * 16;
    if (!read_sum(inst, descriptor, p)) return std::nullopt;
  }
  if (is_integer(p.a) && p.negative) return std::nullopt;
  if (!has_shape(p, inst.has(Mod::cta_group_2))) return std::nullopt;
  return p;
}

std::vector<Block*> product_blocks(Warp& w, const Inst& i, uint32_t lane, bool pair) {
  Block& own = w.block();
  if (!pair) return {&own};
  const uint32_t first = own.rank_in_cluster & ~1u;
  if (!own.cluster || own.cluster->blocks.size() < first + 2) {
    w.trap(TrapKind::invalid_operand, i, lane, ".cta_group::2 needs a pair of blocks in a cluster");
  }
  const std::vector<Block*> blocks = {own.cluster->blocks[first], own.cluster->blocks[first + 1]};
  for (const Block* block : blocks) {
    if (block->finished()) w.trap(TrapKind::out_of_bounds, i, lane, "the other block of the pair has exited");
  }
  return blocks;
}

uint64_t multiply_in_tensor_memory(Warp& w, const Inst& i, uint32_t lane, const TensorMemoryProduct& product,
                                   const TensorMemoryOperands& operands, const std::vector<Block*>& blocks) {
  return Multiplication(w, i, lane, product, operands, blocks).run();
}

}  // namespace fb::simt
