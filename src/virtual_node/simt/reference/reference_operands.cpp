#include "virtual_node/simt/reference/reference_operands.h"

#include <bit>
#include <cstring>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/lower/operands.h"

namespace fb::simt::reference {
namespace {

const Origin& origin_of(Warp& w, const Inst& i) { return w.block().grid().program->origins[i.origin]; }
const ptx::Function& function_of(Warp& w, const Inst& i) {
  return w.block().grid().program->module->functions[origin_of(w, i).function];
}

// A floating-point literal takes the width of its operand.
Bits literal(const ptx::Instruction& inst, size_t k, const ptx::Operand& op) {
  if (op.kind == ptx::OperandKind::integer) return static_cast<Bits>(static_cast<I128>(static_cast<int64_t>(op.bits)));
  const bool is_double = op.kind == ptx::OperandKind::float64, wants_double = immediate_bytes(inst, k) == 8;
  if (is_double == wants_double) return op.bits;
  return encode(decode(op.bits, is_double ? kF64 : kF32), wants_double ? kF64 : kF32, Rounding::nearest_even);
}

}  // namespace

Operands::Operands(Warp& w, const Inst& i)
    : w_(w), i_(i), function_(function_of(w, i)), inst_(function_.body[origin_of(w, i).index]) {}

int Operands::count(size_t k) const {
  const ptx::Operand& op = inst_.operands[k];
  return op.kind == ptx::OperandKind::vector ? static_cast<int>(op.elements.size()) : 1;
}

int32_t Operands::row(size_t k, int element) const {
  const bool is_list = inst_.operands[k].kind == ptx::OperandKind::vector || is_list_operand(inst_, k);
  return is_list ? i_.list[i_.op[k] + element] : i_.op[k];
}

Bits Operands::read(size_t k, uint32_t lane, int element) const {
  const ptx::Operand& whole = inst_.operands[k];
  const ptx::Operand& op =
      whole.kind == ptx::OperandKind::vector ? whole.elements[static_cast<size_t>(element)] : whole;
  size_t bytes = 0;
  switch (op.kind) {
    case ptx::OperandKind::none:
      return 0;
    case ptx::OperandKind::integer:
    case ptx::OperandKind::float32:
    case ptx::OperandKind::float64:
      if (is_predicate_operand(inst_, k)) return (op.bits != 0) != op.negated;
      return literal(inst_, k, op);
    case ptx::OperandKind::reg: {
      const ptx::Type type = function_.registers[op.index].type;
      if (type == ptx::Type::pred) return ((*w_.src<Mask>(row(k, element)) >> lane & 1) != 0) != op.negated;
      bytes = ptx::bytes_of(type);
      break;
    }
    default:
      bytes = i_.width[k];
      break;  // a special register or an address, which lowering has put into a row
  }
  Bits value = 0;
  std::memcpy(&value, w_.src<std::byte>(row(k, element)) + lane * bytes, bytes);
  return value;
}

void Operands::write(size_t k, uint32_t lane, Bits value, int element) {
  const ptx::Operand& whole = inst_.operands[k];
  const ptx::Operand& op =
      whole.kind == ptx::OperandKind::vector ? whole.elements[static_cast<size_t>(element)] : whole;
  if (op.kind != ptx::OperandKind::reg) return;  // the sink
  const ptx::Type type = function_.registers[op.index].type;
  if (type == ptx::Type::pred) {
    Mask& m = *w_.row<Mask>(row(k, element));
    m = (m & ~(Mask{1} << lane)) | (value != 0 ? Mask{1} << lane : 0);
    return;
  }
  const size_t bytes = ptx::bytes_of(type);
  std::memcpy(w_.row<std::byte>(row(k, element)) + lane * bytes, &value, bytes);
}

mem::Address window_base(ptx::Space space) {
  switch (space) {
    case ptx::Space::shared:
    case ptx::Space::shared_cluster:
      return mem::kSharedWindow;
    case ptx::Space::local:
      return mem::kLocalWindow;
    case ptx::Space::param:
      return mem::kParamWindow;
    default:
      return 0;
  }
}

}  // namespace fb::simt::reference
