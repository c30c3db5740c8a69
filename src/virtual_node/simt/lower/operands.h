#pragma once

// What lowering asks the form table about an instruction's operands.

#include "common/ptx/form_table.h"
#include "common/ptx/module.h"

namespace fb::simt {

// Operand k is a register (or list of registers) that the instruction writes.
bool is_destination(const ptx::Instruction& inst, size_t k);

// Control never goes on behind it (its guard aside).
bool ends_thread(const ptx::Instruction& inst);

// Bytes of an immediate in operand k; 4 where the form leaves it open.
uint32_t immediate_bytes(const ptx::Instruction& inst, size_t k);

// Operand k is a list of registers by the form's syntax, also where a single one is written.
bool is_list_operand(const ptx::Instruction& inst, size_t k);

bool is_predicate_operand(const ptx::Instruction& inst, size_t k);

// ld.param or st.param.
bool is_param_access(const ptx::Instruction& inst);
// … of a function, through a register: it reaches a parameter that is on the stack, because its address was taken.
bool reaches_stack(const ptx::Function& function, const ptx::Instruction& inst);

}  // namespace fb::simt
