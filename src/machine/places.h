#pragma once

// From an instruction of a running warp to words for people.

#include "machine/outcome.h"
#include "simt/block.h"

namespace fb::machine {

simt::SourceLocation place_of(const simt::Grid& grid, const simt::Inst& inst);
// The same for whoever has no grid at hand; without the kernel's name. `origin` is Inst::origin.
simt::SourceLocation place_in(const simt::Program& program, uint32_t origin);
Fault make_fault(const simt::Warp& warp, const simt::Trap& trap);

}  // namespace fb::machine
