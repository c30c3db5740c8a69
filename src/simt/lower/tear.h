#pragma once

// In PTX a vector access is a set of accesses to its elements in no particular order; hardware performs 16 bytes at
// once, and code relies on it. Strict programs may not: their wide stores are made in pieces of 8 bytes, between which
// anything can happen.

#include <vector>

#include "ptx/module.h"

namespace fb::simt {

// The pieces; empty for an instruction that stays whole.
std::vector<ptx::Instruction> tear_store(const ptx::Instruction& inst);

}  // namespace fb::simt
