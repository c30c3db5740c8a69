#pragma once

// The second pass: literals, symbols, special registers and addresses become rows. Where that takes instructions, they
// are appended to the program.

#include <cstdint>
#include <vector>

#include "virtual_node/simt/exec/select.h"
#include "virtual_node/simt/lower/frame_layout.h"
#include "virtual_node/simt/lower/function_context.h"

namespace fb::simt {

class OperandLowering {
 public:
  OperandLowering(FunctionContext& context, FrameLayout& frame) : context_(context), frame_(frame) {}

  // Operand k of `inst` into `out`; `list` takes the rows of list operands.
  void lower_operand(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list);
  // A single value, as operand k (or an element of it): its row, and in `width` the bytes of the register.
  int32_t lower_value(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width);
  // ld.param and st.param of named variables. True if `inst` is one.
  bool lower_param_access(const ptx::Instruction& inst, Inst& out, ParamKind& kind);

 private:
  int32_t lower_literal(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width);
  int32_t lower_symbol(const ptx::Instruction& inst, const ptx::Operand& op, uint8_t& width);
  int32_t lower_special(const ptx::Operand& op, uint8_t& width);
  void lower_address(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list);
  bool has_fixed_address(const ptx::Instruction& inst, const ptx::Operand& symbol);
  uint64_t symbol_address(const ptx::Operand& symbol, bool generic) const;

  FunctionContext& context_;
  FrameLayout& frame_;
};

}  // namespace fb::simt
