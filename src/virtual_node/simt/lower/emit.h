#pragma once

// The last pass: one instruction of the program for each of the function, in order, with the function that executes it.

#include <cstdint>
#include <vector>

#include "virtual_node/simt/lower/control_lowering.h"
#include "virtual_node/simt/lower/frame_layout.h"
#include "virtual_node/simt/lower/function_context.h"
#include "virtual_node/simt/lower/operand_lowering.h"
#include "virtual_node/simt/lower/spans.h"

namespace fb::simt {

class FunctionEmitter {
 public:
  FunctionEmitter(FunctionContext& context, FrameLayout& frame)
      : context_(context), frame_(frame), operands_(context, frame), control_(context, frame, operands_) {}
  FunctionEmitter(const FunctionEmitter&) = delete;  // its passes refer to each other
  FunctionEmitter& operator=(const FunctionEmitter&) = delete;

  // Appends the function's code to the program's.
  void emit();
  // When no code moves any more: labels and lists become pointers.
  void connect();

 private:
  void emit_stack_params();
  void go_to(uint32_t to);
  void emit_body(const ptx::Instruction& inst);
  void emit_instruction(const ptx::Instruction& inst);
  void emit_spans(std::vector<std::vector<Span>>& spans);

  struct List {
    uint32_t code;
    uint32_t list;  // Program::lists
  };

  FunctionContext& context_;
  FrameLayout& frame_;
  OperandLowering operands_;
  ControlLowering control_;
  std::vector<uint32_t> start_;  // body index → code index
  std::vector<List> lists_;
  SpanPlan spans_;  // empty where time is not modelled
};

}  // namespace fb::simt
