#pragma once

// Conflicts of the banks of shared memory: 32 banks of four bytes. Lanes that want different words of one bank are
// served one after the other; lanes that want the same word are served together. Accesses of more than four bytes are
// made in parts of the warp, so that 128 bytes are one part.
//
// Which addresses the lanes of an instruction have is much the same each time. So the first executions of an
// instruction are looked at, and then one of sixteen; the others are taken to be as the last one that was.

#include <cstdint>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

// Cycles that shared memory is occupied by an access of `bytes` for each lane: 1 for each 128 bytes, if nothing is in
// conflict.
uint32_t shared_cycles(const mem::Address* addresses, Mask lanes, uint32_t bytes);

// Whether this execution of the sample's instruction is looked at.
bool is_due(BankSample& s);

// The next execution of an instruction that names shared memory; its addresses are those of the executing lanes.
void note_shared_access(Warp& w, const Inst& i, const mem::Address* addresses, uint32_t bytes);

}  // namespace fb::simt
