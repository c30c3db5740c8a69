#pragma once

// Basic blocks of a function, and the registers that its instructions name.

#include <cstdint>
#include <vector>

#include "common/ptx/module.h"
#include "common/ptx/traits.h"
#include "virtual_node/simt/lower/operands.h"

namespace fb::simt {

// Calls fn(register, written) for every register an instruction names.
template <class F>
void for_each_register(const ptx::Instruction& inst, F fn) {
  if (inst.guard.reg != ptx::kNoIndex) fn(inst.guard.reg, false);
  for (size_t k = 0; k < inst.operands.size(); ++k) {
    const ptx::Operand& op = inst.operands[k];
    const bool written = is_destination(inst, k);
    if (op.kind == ptx::OperandKind::reg) fn(op.index, written);
    // The base of an address is read even where the instruction writes memory.
    const bool elements_written = written && op.kind == ptx::OperandKind::vector;
    if (k == 0 && ptx::traits(inst).accumulates) {
      for (const ptx::Operand& e : op.elements) {
        if (e.kind == ptx::OperandKind::reg) fn(e.index, false);
      }
    }
    for (const ptx::Operand& e : op.elements) {
      if (e.kind == ptx::OperandKind::reg) fn(e.index, elements_written);
      for (const ptx::Operand& f : e.elements) {
        if (f.kind == ptx::OperandKind::reg) fn(f.index, false);
      }
    }
  }
}

struct Flow {
  std::vector<uint32_t> block_begin;        // body indices, ascending
  std::vector<std::vector<uint32_t>> next;  // successors, by block
};

// The labels that an instruction may jump to, as body indices.
void add_targets(const ptx::Function& f, const ptx::Instruction& inst, std::vector<uint32_t>& targets);

Flow find_flow(const ptx::Function& f);

}  // namespace fb::simt
