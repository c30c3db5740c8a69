#pragma once

// From an instruction of a running warp to words for people.

#include "machine/outcome.h"
#include "simt/block.h"

namespace fb::machine {

CodePlace place_of(const simt::Grid& grid, const simt::Inst& inst);
Fault make_fault(const simt::Warp& warp, const simt::Trap& trap);

// What every split of the warp waits for, appended to the record.
void add_waiters(const simt::Warp& warp, const mem::AddressSpace& memory, size_t most, Deadlock& record);

}  // namespace fb::machine
