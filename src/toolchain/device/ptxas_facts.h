#pragma once

// What NVIDIA's assembler says of the kernels of a PTX text (`ptxas -v`), kept in the text for the virtual GPU, which
// has no other way to know: `.pragma "fabricbench.assembled 40 0 0";` before a kernel's body.

#include <string>
#include <string_view>

namespace fb::toolchain {

// PTX with the facts that `said`, the assembler's output, states of its kernels; with no others.
std::string with_ptxas_facts(const std::string& ptx, std::string_view said);

}  // namespace fb::toolchain
