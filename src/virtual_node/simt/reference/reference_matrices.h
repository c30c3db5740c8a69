#pragma once

// Products of matrices in the slow engine, element by element.

#include <cstdint>

#include "common/ptx/matrix_shape.h"
#include "virtual_node/simt/reference/reference_number.h"
#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt::reference {

inline constexpr uint32_t kMostRows = 16, kColumns = 8, kMostDepth = 256;

struct Matrices {
  Number a[kMostRows][kMostDepth], b[kMostDepth][kColumns], c[kMostRows][kColumns];
  ptx::MatrixShape shape;
};

// Bits that an element takes up in a register; tf32 has its low 13 bits unused.
uint32_t element_bits(ptx::Type type);
// Element `index` of a register.
Number element_number(Bits reg, uint32_t index, ptx::Type type);

// Row `row` of A times column `column` of B plus C, in the type of the instruction's result.
uint64_t result_code(const Matrices& m, const ptx::Instruction& inst, uint32_t row, uint32_t column);

// f(lane, register, index in the register, row, column) for every element of an accumulator: rows g and g + 8, columns
// 2t and 2t + 1; two elements share a register in f16.
template <class F>
void each_accumulator(ptx::Type type, uint32_t rows, F f) {
  const uint32_t in_register = type == ptx::Type::f16 ? 2 : 1;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t n = 0; n < rows / 4; ++n) {
      f(lane, static_cast<int>(n / in_register), n % in_register, lane / 4 + 8 * (n / 2), lane % 4 * 2 + n % 2);
    }
  }
}

}  // namespace fb::simt::reference
