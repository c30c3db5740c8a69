#include "virtual_node/simt/lower/function_context.h"

#include <utility>

#include "common/ptx/print/printer.h"

namespace fb::simt {

const ptx::Variable& FunctionContext::variable(const ptx::Operand& symbol) const {
  return symbol.in_function ? function.variables[symbol.index] : program.module->variables[symbol.index];
}

bool FunctionContext::is_kernel_param(const ptx::Operand& symbol) const {
  return function.entry && symbol.in_function && symbol.index < function.params;
}

Inst& FunctionContext::append(Exec run) {
  Inst inst;
  inst.run = run;
  inst.origin = static_cast<uint32_t>(program.origins.size());
  program.origins.push_back({index, body_index});
  return program.code.emplace_back(inst);
}

void FunctionContext::fail(const ptx::Instruction& inst, std::string message) {
  errors.list.push_back({inst.at, std::move(message)});
}

std::string FunctionContext::text_of(const ptx::Instruction& inst) const {
  return ptx::print(*program.module, function, inst);
}

}  // namespace fb::simt
