#include "common/ptx/link/renumber.h"

namespace fb::ptx {

void Renumbering::apply(Operand& operand) const {
  if (operand.kind == OperandKind::function) operand.index = functions[operand.index];
  if (operand.kind == OperandKind::symbol && !operand.in_function) operand.index = variables[operand.index];
  for (Operand& element : operand.elements) apply(element);
}

void Renumbering::apply(Variable& variable) const {
  for (Relocation& relocation : variable.relocations) apply(relocation.symbol);
}

void Renumbering::apply(Function& function) const {
  for (Variable& variable : function.variables) apply(variable);
  for (TargetList& list : function.target_lists) {
    for (uint32_t& target : list.functions) target = functions[target];
  }
  for (Instruction& inst : function.body) {
    if (inst.source.file != kNoIndex) inst.source.file += first_file;
    for (Operand& operand : inst.operands) apply(operand);
  }
}

bool same_interface(const Function& a, const Function& b) {
  if (a.entry != b.entry || a.params != b.params || a.returns != b.returns) return false;
  for (uint32_t k = 0; k < a.params + a.returns; ++k) {
    if (a.variables[k].bytes != b.variables[k].bytes || a.variables[k].align != b.variables[k].align) return false;
  }
  return true;
}

}  // namespace fb::ptx
