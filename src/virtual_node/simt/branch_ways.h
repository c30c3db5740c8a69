#pragma once

// Which ways the conditional branches of a program went. Counting is lowered into the program (LowerOptions), so that
// programs without it pay nothing.

#include <cstdint>
#include <vector>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// Bits of Program::branch_ways, which is indexed by Inst::origin.
inline constexpr uint8_t kJumped = 1, kFellThrough = 2;
inline constexpr uint8_t kLaunched = 4;  // at a kernel's first instruction

// From now on the branch notes which way lanes go.
void count_ways(Inst& branch);
bool counts_ways(const Inst& inst);

}  // namespace fb::simt
