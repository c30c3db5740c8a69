#pragma once

#include <cstdint>
#include <string>

namespace fb::toolchain {

// PTX with `.maxnreg count` in each kernel that says nothing of its threads or registers: -maxrregcount, which nvcc
// hands to ptxas. 0: the PTX itself.
std::string with_max_registers(std::string ptx, uint32_t count);

}  // namespace fb::toolchain
