#pragma once

// The functions that an ELF file defines, by name.

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/elf_view.h"

namespace fb::redirect {

struct ElfFunction {
  const char* name;
  uint64_t address;  // as the file has it
  uint64_t bytes;
};

// Each function of the file's symbol table, or of its dynamic one if the other was stripped. What is no
// ELF file of this machine, or a malformed one, has none.
class ElfFunctions {
 public:
  explicit ElfFunctions(std::span<const std::byte> file);

  // The next one; false: there are no more.
  bool next(ElfFunction& function);

 private:
  ElfSymbols symbols_;
  uint64_t next_ = 0;
};

}  // namespace fb::redirect
