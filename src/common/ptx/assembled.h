#pragma once

// What NVIDIA's assembler made of a kernel, where it was asked.

#include <cstdint>
#include <string_view>

namespace fb::ptx {

struct Assembled {
  uint32_t registers = 0;  // of a thread; 0: the assembler was not asked
  uint32_t spill_store_bytes = 0;
  uint32_t spill_load_bytes = 0;
};

// `.pragma "fabricbench.assembled REGISTERS SPILL_STORES SPILL_LOADS";` among a kernel's directives.
inline constexpr std::string_view kAssembledPragma = "fabricbench.assembled";

}  // namespace fb::ptx
