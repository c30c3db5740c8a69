#pragma once

// In PTX a vector access is a set of accesses to its elements in no particular order; hardware performs 16 bytes at
// once, and code relies on it. Strict programs may not: their wide stores are made in pieces of 8 bytes, between which
// anything can happen. A reader that looks at one piece and trusts the other is caught by one of the two orders only.

#include <cstdint>
#include <vector>

#include "common/ptx/module.h"

namespace fb::simt {

enum class Tear : uint8_t { no, low_piece_first, high_piece_first };

// The pieces in their order; empty for an instruction that stays whole.
std::vector<ptx::Instruction> tear_store(const ptx::Instruction& inst, Tear tear);

}  // namespace fb::simt
