#pragma once

// tcgen05.mma: a product whose sums are in tensor memory, of one block or of a pair of them.

#include <cstdint>
#include <optional>
#include <vector>

#include "virtual_node/num/tensor/tensor_engine.h"
#include "virtual_node/simt/shared_matrix.h"
#include "virtual_node/simt/tensor/tensor_memory.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

// What kind the instruction is, and what its instruction descriptor says. PTX ISA, "Instruction descriptor".
struct TensorMemoryProduct {
  enum class Sum : uint8_t { f16, f32, s32, saturated_s32 };
  enum class Scale : uint8_t { ue4m3, ue8m0 };

  num::tensor::Element a{}, b{};
  Sum sum{};
  uint32_t m = 0, n = 0;
  bool negative = false;  // one of the factors is negated, not both
  bool a_by_columns = false, b_by_columns = false;
  bool padded = false;  // 4 and 6-bit elements are packed at the front of chunks of 16 bytes
  // Block-scaled kinds: factors for as many blocks of K.
  uint32_t scales = 0;
  uint32_t scale_a_byte = 0, scale_b_byte = 0;
  Scale scale{};

  uint32_t depth() const { return 8 * num::tensor::elements_in_word(a); }
};

// None: the descriptor has a value that the kind does not.
std::optional<TensorMemoryProduct> read_instruction_descriptor(const ptx::Instruction& inst, uint32_t descriptor);

struct TensorMemoryOperands {
  TensorMemory::Place d;
  std::optional<TensorMemory::Place> a;  // A is in tensor memory
  uint64_t a_descriptor = 0, b_descriptor = 0;
  TensorMemory::Place scale_a, scale_b;
  bool adds = false;          // D = A × B + D
  uint32_t divide_by = 0;     // … of D · 2^-divide_by
  uint32_t disabled[8] = {};  // lanes of D that are not written, of both blocks
};

// The blocks that take part: one, or the pair of a cluster. Throws Trap.
std::vector<Block*> product_blocks(Warp& w, const Inst& i, uint32_t lane, bool pair);

// Performs the product; the bytes of shared memory that were read. Throws Trap.
uint64_t multiply_in_tensor_memory(Warp& w, const Inst& i, uint32_t lane, const TensorMemoryProduct& product,
                                   const TensorMemoryOperands& operands, const std::vector<Block*>& blocks);

}  // namespace fb::simt
