#pragma once

#include <string>

namespace fb::toolchain {

// PTX of nvcc whose kernels and variables have the names by which clang's host code looks for them. They differ for
// what other files do not see:
//   _ZN36_GLOBAL__N__6beb82a8_4_n_cu_3c7ab8be6hiddenEPi      → _ZN12_GLOBAL__N_16hiddenEPi
//   _ZN34_INTERNAL_6beb82a8_4_n_cu_3c7ab8be2ns7counterE      → _ZN2nsL7counterE
//   _Z4statPi, a static kernel                               → _ZL4statPi
//   table, a static variable                                 → _ZL5table
std::string with_clang_names(const std::string& ptx);

}  // namespace fb::toolchain
