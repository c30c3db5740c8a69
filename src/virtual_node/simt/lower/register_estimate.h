#pragma once

// How many registers a thread of a kernel has on a GPU, from its PTX. NVIDIA's assembler decides it, and this follows
// what it does on the whole: docs/reference/time.md says how near it comes.

#include <cstdint>

#include "common/ptx/module.h"
#include "virtual_node/simt/lower/registers.h"

namespace fb::simt {

// Of a kernel that the assembler has seen, what it said.
uint32_t estimate_registers(const ptx::Function& function, const Liveness& liveness);

}  // namespace fb::simt
