#pragma once

// The third pass: calls become call sites, labels become pointers.

#include <cstdint>
#include <vector>

#include "virtual_node/simt/lower/frame_layout.h"
#include "virtual_node/simt/lower/function_context.h"
#include "virtual_node/simt/lower/operand_lowering.h"

namespace fb::simt {

class ControlLowering {
 public:
  ControlLowering(FunctionContext& context, const FrameLayout& frame, OperandLowering& operands)
      : context_(context), frame_(frame), operands_(operands) {}

  void lower_call(const ptx::Instruction& inst, Inst& out);
  void lower_branch_table(const ptx::Instruction& inst, Inst& out);
  // The instruction at `code` jumps to body[to].
  void add_jump(uint32_t code, uint32_t to) { jumps_.push_back({code, to}); }

  // When no code moves any more. start[k] is the code index of body[k].
  void connect(const std::vector<uint32_t>& start);

 private:
  struct Jump {
    uint32_t code;
    uint32_t to;  // body index
  };
  struct Table {
    uint32_t table;    // Program::branch_tables
    uint32_t targets;  // ptx::Function::target_lists
  };

  FunctionContext& context_;
  const FrameLayout& frame_;
  OperandLowering& operands_;
  std::vector<Jump> jumps_;
  std::vector<Table> tables_;
};

}  // namespace fb::simt
