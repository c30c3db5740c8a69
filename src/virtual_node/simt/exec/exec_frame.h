#pragma once

// Instructions that lowering inserts: no form of PTX is one of them.

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// Address of a .local variable: imm is its offset in the function's frame.
const Inst* exec_local_address(Warp& w, const Inst& i);

// Copies a parameter whose address is taken to the stack, as the PTX manual says of mov: op[0] is the offset of its
// bytes in the frame, aux their number for each lane, imm their offset in the frame's local memory.
const Inst* exec_keep_param(Warp& w, const Inst& i);

// A base address plus a constant, for operands whose instruction has no room for an offset.
const Inst* exec_add_offset(Warp& w, const Inst& i);

}  // namespace fb::simt
