// The slow engine: wgmma.mma_async. Waiting, and what the listener hears, are the fast engine's: it runs first, and its
// results are written over.

#include <cstring>
#include <memory>
#include <vector>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/reference/reference_matrices.h"
#include "virtual_node/simt/reference/reference_operands.h"
#include "virtual_node/simt/shared_matrix.h"

namespace fb::simt::reference {
namespace {

using ptx::Mod;
using ptx::Type;

bool constant_is(const ptx::Instruction& inst, size_t k, uint64_t value) {
  return k < inst.operands.size() && inst.operands[k].kind == ptx::OperandKind::integer &&
         inst.operands[k].bits == value;
}

// Element k of a row of a matrix in shared memory.
Number element_at(const Warp& w, const SharedMatrix& m, Type type, uint32_t row, uint32_t k) {
  Bits bits = 0;
  std::memcpy(&bits, const_cast<Warp&>(w).block().shared() + m.element_address(row, k) - mem::kSharedReserved,
              m.element_bytes);
  return element_number(bits, 0, type);
}

SharedMatrix matrix_of(uint64_t descriptor, Type type, bool by_columns) {
  SharedMatrix m;
  read_wgmma_descriptor(descriptor, m);
  m.element_bytes = element_bits(type) / 8;
  m.by_columns = by_columns;
  return m;
}

class GroupProduct {
 public:
  GroupProduct(Warp& w, const Inst& i) : w_(w), o_(w, i), m_(std::make_unique<Matrices>()) {
    m_->shape = ptx::matrix_shape(o_.inst()).value();
    const bool in_registers = o_.inst().operands[1].kind == ptx::OperandKind::vector;
    constexpr uint64_t kMinusOne = ~uint64_t{0};
    negative_ = constant_is(o_.inst(), 4, kMinusOne) != constant_is(o_.inst(), 5, kMinusOne);
    adds_ = (w.predicate(i, 3) & 1) != 0;
    b_ = matrix_of(*w.src<uint64_t>(i.op[2]), o_.inst().type(2), constant_is(o_.inst(), in_registers ? 6 : 7, 1));
    if (in_registers) {
      read_registers();
    } else {
      read_memory(matrix_of(*w.src<uint64_t>(i.list[i.op[1]]), o_.inst().type(1), constant_is(o_.inst(), 6, 1)));
    }
  }

  // The registers of D, before any is written.
  std::vector<std::vector<Bits>> results() {
    const Type type = o_.inst().type(0);
    const int per_block = type == Type::f16 ? 2 : 4;
    std::vector<std::vector<Bits>> d(static_cast<size_t>(o_.count(0)), std::vector<Bits>(kLanes, 0));
    for (int first = 0; first < o_.count(0); first += per_block) {
      read_block(static_cast<uint32_t>(first / per_block), first, type);
      each_accumulator(type, kMostRows, [&](uint32_t lane, int reg, uint32_t index, uint32_t row, uint32_t column) {
        d[static_cast<size_t>(first) + static_cast<size_t>(reg)][lane] |= Bits{result_code(*m_, o_.inst(), row, column)}
                                                                          << (16 * index);
      });
    }
    return d;
  }

  void write(const std::vector<std::vector<Bits>>& d) {
    each_executing(w_, [&](uint32_t lane) {
      for (int reg = 0; reg < o_.count(0); ++reg) o_.write(0, lane, d[static_cast<size_t>(reg)][lane], reg);
    });
  }

 private:
  void set_a(uint32_t row, uint32_t k, Number n) {
    if (negative_) n.negative = !n.negative;
    m_->a[row][k] = n;
  }
  void read_registers() {
    const Type type = o_.inst().type(1);
    const uint32_t in_register = 32 / element_bits(type);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      for (uint32_t r = 0; r < 4; ++r) {
        for (uint32_t k = 0; k < in_register; ++k) {
          set_a(lane / 4 + 8 * (r % 2), lane % 4 * in_register + k + 4 * in_register * (r / 2),
                element_number(o_.read(1, lane, static_cast<int>(r)), k, type));
        }
      }
    }
  }
  void read_memory(const SharedMatrix& a) {
    for (uint32_t row = 0; row < kMostRows; ++row) {
      for (uint32_t k = 0; k < m_->shape.k; ++k) {
        set_a(row, k, element_at(w_, a, o_.inst().type(1), w_.index() % 4 * kMostRows + row, k));
      }
    }
  }
  void read_block(uint32_t block, int first, Type type) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      for (uint32_t k = 0; k < m_->shape.k; ++k) {
        m_->b[k][column] = element_at(w_, b_, o_.inst().type(2), block * kColumns + column, k);
      }
    }
    each_accumulator(type, kMostRows, [&](uint32_t lane, int reg, uint32_t index, uint32_t row, uint32_t column) {
      m_->c[row][column] = element_number(adds_ ? o_.read(0, lane, first + reg) : 0, index, type);
    });
  }

  Warp& w_;
  Operands o_;
  std::unique_ptr<Matrices> m_;
  SharedMatrix b_;
  bool negative_ = false;
  bool adds_ = false;
};

const Inst* run_group_product(Warp& w, const Inst& i) {
  const ptx::Instruction& inst = Operands(w, i).inst();
  // The fast engine checks every address of the factors; its sums are undone.
  if ((w.present() & ~w.exited()) != w.exec) return select({inst})(w, i);
  std::vector<std::vector<std::byte>> before;
  const auto count = static_cast<int32_t>(inst.operands[0].elements.size());
  const auto row = [&](int32_t r) { return w.row<std::byte>(i.list[i.op[0] + r]); };
  for (int32_t r = 0; r < count; ++r) before.emplace_back(row(r), row(r) + 4 * kLanes);
  const Inst* next = select({inst})(w, i);
  for (int32_t r = 0; r < count; ++r) std::memcpy(row(r), before[static_cast<size_t>(r)].data(), 4 * kLanes);
  GroupProduct product(w, i);
  product.write(product.results());
  return next;
}

}  // namespace

Exec group_matrix_handler(const Selection& s) {
  return s.inst.form == ptx::Form::wgmma_mma_async && select(s) ? &run_group_product : nullptr;
}

}  // namespace fb::simt::reference
