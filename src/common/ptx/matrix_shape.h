#pragma once

// Shapes of matrix instructions, and the registers that their fragments take.

#include <cstdint>
#include <optional>

#include "common/ptx/module.h"

namespace fb::ptx {

// m16n8k16: 16 × 16 by 16 × 8 elements.
struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
};

// As the instruction's modifiers say; none if it has no such modifier.
std::optional<MatrixShape> matrix_shape(const Instruction& instruction);

// Registers of each thread for `elements` of a type, spread over a warp. Those of f64 have 64 bits, all others 32.
inline uint32_t fragment_registers(uint32_t elements, Type type) {
  const uint32_t bits = type == Type::tf32 ? 32 : bits_of(type);
  return elements * bits / 32 / (bits == 64 ? 64 : 32);
}

}  // namespace fb::ptx
