#pragma once

// The first pass: rows for registers, bytes for parameters and local variables. Later passes ask for scratch rows.

#include <cstdint>
#include <vector>

#include "virtual_node/simt/lower/function_context.h"
#include "virtual_node/simt/lower/registers.h"

namespace fb::simt {

class FrameLayout {
 public:
  explicit FrameLayout(FunctionContext& context);

  const Liveness& liveness() const { return liveness_; }
  int32_t row(uint32_t reg) const { return rows_.row[reg]; }
  // Of .param variables, apart from those of kernels.
  const LaneBytes& lane_bytes(uint32_t variable) const { return lane_bytes_[variable]; }
  // Of .local variables, and of parameters on the stack.
  uint32_t local_offset(uint32_t variable) const { return local_offset_[variable]; }
  // A parameter of a function that needs an address: a copy of it is in local memory.
  bool is_on_stack(uint32_t variable) const { return on_stack_[variable]; }
  bool is_local(const ptx::Operand& op) const;

  // A row for a value that is no register, until free_scratch().
  int32_t scratch();
  void free_scratch() { used_scratch_ = 0; }
  // A row that is written and never read.
  int32_t sink();

 private:
  void find_stack_params();
  bool lay_out_variables();  // false: too large, reported
  void lay_out_kernel_params();
  void lengthen_frame(int32_t row, uint32_t bytes);

  FunctionContext& context_;
  Liveness liveness_;
  RegisterRows rows_;
  // By variable.
  std::vector<LaneBytes> lane_bytes_;
  std::vector<uint32_t> local_offset_;
  std::vector<bool> on_stack_;
  int32_t scratch_ = 0;
  uint32_t used_scratch_ = 0;
  int32_t sink_ = 0;
};

}  // namespace fb::simt
