#pragma once

// What is known of a register's lowest bits, whichever way control comes: an assembler proves alignment so.

#include <cstdint>
#include <vector>

#include "common/ptx/module.h"

namespace fb::simt {

// For each register of the function the largest power of two, as an exponent, that divides every value it gets.
std::vector<uint8_t> known_zero_bits(const ptx::Module& module, const ptx::Function& function);

}  // namespace fb::simt
