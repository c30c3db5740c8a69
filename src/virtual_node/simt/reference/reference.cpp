#include "virtual_node/simt/reference/reference.h"

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/lower/operands.h"
#include "virtual_node/simt/reference/reference_operands.h"
#include "virtual_node/simt/reference/reference_operation.h"

namespace fb::simt {
namespace reference {
namespace {

Evaluate evaluator(ptx::Form form) {
  for (auto family :
       {integer_evaluator, bits_evaluator, float_evaluator, compare_evaluator, convert_evaluator, address_evaluator}) {
    if (const Evaluate found = family(form)) return found;
  }
  return nullptr;
}

// Any instruction that computes in each lane for itself.
const Inst* run_values(Warp& w, const Inst& i) {
  Operands operands(w, i);
  const ptx::Instruction& inst = operands.inst();
  const Evaluate evaluate = evaluator(inst.form);
  each_executing(w, [&](uint32_t lane) {
    Operation o{inst};
    o.block_rank = w.block().rank_in_cluster;
    o.executing = w.exec;
    o.carry = (w.carry >> lane & 1) != 0;
    for (size_t k = 0; k < inst.operands.size(); ++k) {
      if (operands.count(k) > 1) o.elements = operands.count(k);
      if (is_destination(inst, k)) continue;
      for (int n = 0; n < operands.count(k); ++n) o.in[k][n] = operands.read(k, lane, n);
    }
    evaluate(o);
    for (size_t k = 0; k < inst.operands.size(); ++k) {
      if (!is_destination(inst, k)) continue;
      for (int n = 0; n < operands.count(k); ++n) operands.write(k, lane, o.out[k][n], n);
    }
    w.carry = (w.carry & ~(Mask{1} << lane)) | static_cast<Mask>(o.carry) << lane;
  });
  return &i + 1;
}

bool reads_special_register(const ptx::Instruction& inst) {
  return inst.form == ptx::Form::mov && inst.operands.size() > 1 && inst.operands[1].kind == ptx::OperandKind::special;
}

}  // namespace
}  // namespace reference

Exec select_reference(const Selection& s) {
  // What the fast engine refuses, this one refuses too; what the machine around a warp decides is left to it.
  if (reference::reads_special_register(s.inst) || !select(s)) return nullptr;
  if (const Exec memory = reference::memory_handler(s)) return memory;
  if (const Exec multimem = reference::multimem_handler(s)) return multimem;
  if (const Exec warp = reference::warp_handler(s)) return warp;
  if (const Exec matrix = reference::matrix_handler(s)) return matrix;
  if (const Exec group = reference::group_matrix_handler(s)) return group;
  return reference::evaluator(s.inst.form) ? reference::run_values : nullptr;
}

}  // namespace fb::simt
