#pragma once

// From an instruction of a running warp to its source location.

#include "virtual_node/machine/engine/outcome.h"
#include "virtual_node/simt/block.h"

namespace fb::machine {

simt::SourceLocation location_of(const simt::Grid& grid, const simt::Inst& inst);
// The same without a grid, and without the kernel's name. `origin` is Inst::origin.
simt::SourceLocation location_in(const simt::Program& program, uint32_t origin);
Fault make_fault(const simt::Warp& warp, const simt::Trap& trap);

}  // namespace fb::machine
