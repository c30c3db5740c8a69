#pragma once

// One function of a module on its way through the passes of lowering: frame_layout, operand_lowering, control_lowering,
// emit. lower.cpp runs them.

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/lower/constant_pool.h"
#include "virtual_node/simt/lower/lower_options.h"
#include "virtual_node/simt/lower/shared_layout.h"

namespace fb::simt {

struct FunctionContext {
  Program& program;
  const LowerOptions& options;
  const SharedLayout& shared;
  ConstantPool& constants;
  Errors& errors;
  uint32_t index = 0;  // in Module::functions
  const ptx::Function& function;
  uint32_t body_index = 0;  // of the PTX instruction that code is appended for

  FunctionInfo& info() const { return program.functions[index]; }
  const ptx::Variable& variable(const ptx::Operand& symbol) const;
  bool is_kernel_param(const ptx::Operand& symbol) const;

  // One more instruction of the program. The reference is valid until the next one.
  Inst& append(Exec run);

  void fail(const ptx::Instruction& inst, std::string message);
  std::string text_of(const ptx::Instruction& inst) const;
};

}  // namespace fb::simt
