#include "virtual_node/simt/lower/operands.h"

#include "common/ptx/traits.h"

namespace fb::simt {
namespace {

const ptx::OperandSpec* spec(const ptx::Instruction& inst, size_t k) {
  const auto& operands = ptx::spec_of(inst.form).operands;
  return k < operands.size() ? &operands[k] : nullptr;
}

}  // namespace

bool is_destination(const ptx::Instruction& inst, size_t k) {
  const ptx::OperandSpec* o = spec(inst, k);
  if (!o) return false;
  return o->role == ptx::OperandRole::destination || o->role == ptx::OperandRole::predicate_destination ||
         o->role == ptx::OperandRole::list_destination;
}

bool ends_thread(const ptx::Instruction& inst) { return ptx::traits(inst).ends_thread; }

uint32_t immediate_bytes(const ptx::Instruction& inst, size_t k) {
  const ptx::OperandSpec* o = spec(inst, k);
  if (!o || o->role == ptx::OperandRole::immediate) return 4;
  // The elements of a pack share its width.
  if (inst.form == ptx::Form::mov_pack && inst.operands[k].kind == ptx::OperandKind::vector) {
    return ptx::bytes_of(inst.type()) / static_cast<uint32_t>(inst.operands[k].elements.size());
  }
  const auto of_slot = [&] { return ptx::bytes_of(inst.type(o->width.slot)); };
  uint32_t bytes = 4;
  switch (o->width.rule) {
    case ptx::Width::Rule::slot:
      bytes = of_slot();
      break;
    case ptx::Width::Rule::twice_slot:
      bytes = 2 * of_slot();
      break;
    case ptx::Width::Rule::fixed:
      bytes = ptx::bytes_of(o->width.fixed);
      break;
    case ptx::Width::Rule::any:
      break;
  }
  return bytes == 0 ? 4 : bytes;
}

bool is_list_operand(const ptx::Instruction& inst, size_t k) {
  const ptx::OperandSpec* o = spec(inst, k);
  return o && (o->role == ptx::OperandRole::list_source || o->role == ptx::OperandRole::list_destination);
}

bool is_predicate_operand(const ptx::Instruction& inst, size_t k) {
  const ptx::OperandSpec* o = spec(inst, k);
  if (!o) return false;
  if (o->role == ptx::OperandRole::predicate_source || o->role == ptx::OperandRole::predicate_destination) return true;
  return o->width.rule == ptx::Width::Rule::slot && inst.type(o->width.slot) == ptx::Type::pred;
}

bool is_param_access(const ptx::Instruction& inst) {
  if (inst.form != ptx::Form::ld && inst.form != ptx::Form::st) return false;
  return !inst.spaces.empty() && inst.spaces[0] == ptx::Space::param;
}

bool reaches_stack(const ptx::Function& function, const ptx::Instruction& inst) {
  if (function.entry || !is_param_access(inst)) return false;
  return inst.operands[inst.form == ptx::Form::ld ? 1 : 0].elements[0].kind == ptx::OperandKind::reg;
}

}  // namespace fb::simt
