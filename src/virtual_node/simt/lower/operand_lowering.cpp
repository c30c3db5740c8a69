#include "virtual_node/simt/lower/operand_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "virtual_node/simt/exec/exec_frame.h"
#include "virtual_node/simt/lower/operands.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

int32_t OperandLowering::lower_value(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width) {
  using Kind = ptx::OperandKind;
  switch (op.kind) {
    case Kind::none:
      return kAbsent;
    case Kind::sink:
      width = static_cast<uint8_t>(immediate_bytes(inst, k));
      return frame_.sink();
    case Kind::reg:
      width = static_cast<uint8_t>(ptx::bytes_of(context_.function.registers[op.index].type));
      return frame_.row(op.index);
    case Kind::integer:
    case Kind::float32:
    case Kind::float64:
      return lower_literal(inst, k, op, width);
    case Kind::function:
      width = 8;
      return context_.constants.row(8, mem::kCodeWindow + kCodeStride * op.index);
    case Kind::symbol:
      width = static_cast<uint8_t>(std::max(immediate_bytes(inst, k), 4u));
      return lower_symbol(inst, op, width);
    case Kind::special:
      return lower_special(op, width);
    default:
      context_.fail(inst, "an operand of " + context_.text_of(inst) + " can't be lowered");
      return kAbsent;
  }
}

int32_t OperandLowering::lower_literal(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width) {
  if (is_predicate_operand(inst, k)) return context_.constants.mask(op.bits != 0);
  const uint32_t bytes = immediate_bytes(inst, k);
  width = static_cast<uint8_t>(bytes);
  const auto of_double = [&](double value) {
    if (bytes == 4) return context_.constants.row(4, std::bit_cast<uint32_t>(static_cast<float>(value)));
    return context_.constants.row(bytes, std::bit_cast<uint64_t>(value));
  };
  if (op.kind == ptx::OperandKind::float64) return of_double(std::bit_cast<double>(op.bits));
  if (op.kind == ptx::OperandKind::float32) {
    if (bytes == 8) return of_double(std::bit_cast<float>(static_cast<uint32_t>(op.bits)));
    return context_.constants.row(bytes, op.bits);
  }
  return context_.constants.row(bytes, op.bits, static_cast<int64_t>(op.bits) < 0 ? ~uint64_t{0} : 0);
}

int32_t OperandLowering::lower_symbol(const ptx::Instruction& inst, const ptx::Operand& op, uint8_t& width) {
  if (frame_.is_local(op)) {
    const int32_t row = frame_.scratch();
    Inst& address = context_.append(&exec_local_address);
    address.op[0] = row;
    address.width[0] = width;
    address.imm = static_cast<int64_t>(frame_.local_offset(op.index) + op.bits);
    return row;
  }
  return has_fixed_address(inst, op) ? context_.constants.row(width, symbol_address(op, false)) : kAbsent;
}

bool OperandLowering::has_fixed_address(const ptx::Instruction& inst, const ptx::Operand& symbol) {
  const ptx::Space space = context_.variable(symbol).space;
  if (space == ptx::Space::param && !context_.is_kernel_param(symbol)) {
    context_.fail(inst,
                  fmt::format("{}: the address of a function's parameter is not supported", context_.text_of(inst)));
    return false;
  }
  if (symbol.in_function && (space == ptx::Space::global || space == ptx::Space::constant)) {
    context_.fail(inst, fmt::format("{}: {} variables inside a function are not supported", context_.text_of(inst),
                                    to_string(space)));
    return false;
  }
  return true;
}

uint64_t OperandLowering::symbol_address(const ptx::Operand& symbol, bool generic) const {
  const ptx::Variable& var = context_.variable(symbol);
  switch (var.space) {
    case ptx::Space::shared:
      return context_.shared.address_of(context_.index, symbol) + symbol.bits + (generic ? mem::kSharedWindow : 0);
    case ptx::Space::param:
      return context_.info().param_offsets[symbol.index] + symbol.bits + (generic ? mem::kParamWindow : 0);
    default:
      return context_.options.address_of(symbol.index) + symbol.bits;
  }
}

int32_t OperandLowering::lower_special(const ptx::Operand& op, uint8_t& width) {
  ptx::Instruction mov;
  mov.form = ptx::Form::mov;
  mov.types = {ptx::type_of(static_cast<ptx::SpecialReg>(op.index))};
  mov.operands.resize(2);
  mov.operands[1].kind = ptx::OperandKind::special;
  mov.operands[1].index = op.index;
  width = static_cast<uint8_t>(ptx::bytes_of(mov.types[0]));
  const int32_t row = frame_.scratch();
  Inst& read = context_.append(select({mov}));
  read.op[0] = row;
  read.width[0] = width;
  read.imm = op.index;
  return row;
}

void OperandLowering::lower_address(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list) {
  const ptx::Operand& op = inst.operands[k];
  const ptx::Operand& base = op.elements[0];
  const bool generic = inst.spaces.empty();
  uint8_t width = 8;
  int32_t row = kAbsent;
  if (base.kind == ptx::OperandKind::integer) {
    row = context_.constants.row(8, base.bits);
  } else if (base.kind == ptx::OperandKind::symbol && !frame_.is_local(base)) {
    // In an instruction on generic addresses a variable means its generic address.
    if (!has_fixed_address(inst, base)) return;
    row = context_.constants.row(8, symbol_address(base, generic));
  } else if (frame_.is_local(base)) {
    row = lower_symbol(inst, base, width);
    if (generic) context_.program.code.back().imm += static_cast<int64_t>(mem::kLocalWindow);
  } else {
    row = lower_value(inst, k, base, width);
  }
  const auto earlier = inst.operands.begin() + static_cast<std::ptrdiff_t>(k);
  const bool first = std::none_of(inst.operands.begin(), earlier,
                                  [](const ptx::Operand& o) { return o.kind == ptx::OperandKind::address; });
  // Only the first address has room for its offset in the instruction.
  if (first) {
    out.imm = static_cast<int64_t>(op.bits);
  } else if (op.bits != 0) {
    Inst& add = context_.append(&exec_add_offset);
    add.op[0] = frame_.scratch();
    add.op[1] = row;
    add.width[0] = width;
    add.imm = static_cast<int64_t>(op.bits);
    row = add.op[0];
  }
  out.op[k] = row;
  out.width[k] = width;
  if (op.elements.size() < 2) return;
  for (const ptx::Operand& c : op.elements[1].elements) {
    uint8_t ignored = 4;
    const bool constant = c.kind == ptx::OperandKind::integer || c.kind == ptx::OperandKind::float32;
    list.push_back(constant ? context_.constants.row(4, c.bits) : lower_value(inst, k, c, ignored));
  }
}

void OperandLowering::lower_operand(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list) {
  const ptx::Operand& op = inst.operands[k];
  if (op.negated) out.negated = static_cast<uint8_t>(out.negated | 1u << k);
  switch (op.kind) {
    case ptx::OperandKind::label:
      break;  // control_lowering
    case ptx::OperandKind::address:
      lower_address(inst, k, out, list);
      break;
    case ptx::OperandKind::vector:
      out.op[k] = static_cast<int32_t>(list.size());
      for (const ptx::Operand& e : op.elements) {
        if (e.kind != ptx::OperandKind::reg) continue;
        const auto width = static_cast<uint8_t>(ptx::bytes_of(context_.function.registers[e.index].type));
        if (out.width[k] != 0 && out.width[k] != width) {
          context_.fail(inst, "registers of different widths in one list: " + context_.text_of(inst));
        }
        out.width[k] = width;
      }
      for (const ptx::Operand& e : op.elements) {
        uint8_t width = 0;
        // A literal is as wide as the registers beside it, which may be wider than the type.
        const bool literal = e.kind == ptx::OperandKind::integer && out.width[k] != 0;
        list.push_back(literal ? context_.constants.row(out.width[k], e.bits) : lower_value(inst, k, e, width));
        if (out.width[k] == 0) out.width[k] = width;
      }
      break;
    default: {
      const int32_t row = lower_value(inst, k, op, out.width[k]);
      // A single register where a list may stand is a list of one.
      if (row != kAbsent && is_list_operand(inst, k)) {
        out.op[k] = static_cast<int32_t>(list.size());
        list.push_back(row);
      } else {
        out.op[k] = row;
      }
      break;
    }
  }
}

//
bool OperandLowering::lower_param_access(const ptx::Instruction& inst, Inst& out, ParamKind& kind) {
  if (!is_param_access(inst)) return false;
  const size_t k = inst.form == ptx::Form::ld ? 1 : 0;
  const ptx::Operand& address = inst.operands[k];
  const ptx::Operand& base = address.elements[0];
  if (base.kind != ptx::OperandKind::symbol || !base.in_function) return false;
  const uint32_t count = inst.has(ptx::Mod::v8) ? 8 : inst.has(ptx::Mod::v4) ? 4 : inst.has(ptx::Mod::v2) ? 2 : 1;
  const uint64_t begin = address.bits + base.bits;
  const uint64_t size = context_.variable(base).bytes;
  if (begin > size || uint64_t{ptx::bytes_of(inst.type())} * count > size - begin) {
    context_.fail(inst, fmt::format("{}: reaches beyond the {} bytes of {}", context_.text_of(inst), size,
                                    context_.variable(base).name));
  }
  if (context_.is_kernel_param(base)) {
    kind = ParamKind::kernel;
    out.imm = static_cast<int64_t>(context_.info().param_offsets[base.index] + begin);
    return true;
  }
  const LaneBytes& bytes = frame_.lane_bytes(base.index);
  if (bytes.bytes > UINT16_MAX)
    context_.fail(inst, fmt::format("parameter {} is larger than 64 KiB", context_.variable(base).name));
  kind = ParamKind::lanes;
  out.op[k] = bytes.offset;
  out.imm = static_cast<int64_t>(begin);
  out.aux = static_cast<uint16_t>(bytes.bytes);
  return true;
}

}  // namespace fb::simt
