#pragma once

// Loads of shared memory as NVIDIA's assembler leaves them: neighbouring words of one base register become one load of
// 8 or 16 bytes where their alignment is proven. Their time, and their conflicts of banks, are those of one.

#include "common/ptx/module.h"

namespace fb::simt {

// In place of all but the first load of a group stands a move of a register to itself, so that instructions keep their
// places.
void join_shared_loads(ptx::Module& module);

}  // namespace fb::simt
