#pragma once

// The functions that an ELF file defines, by name.

#include <cstddef>
#include <cstdint>
#include <span>

namespace fb::redirect {

struct SectionFacts;

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
  template <class T>
  bool read(uint64_t at, T& value) const;
  bool section(uint32_t index, SectionFacts& facts) const;
  // The string at `at` of a table of strings; null: it is not inside, or does not end there.
  const char* text(uint64_t table, uint64_t table_bytes, uint64_t at) const;

  std::span<const std::byte> file_;
  uint64_t sections_ = 0;
  uint32_t section_count_ = 0;
  uint64_t symbols_ = 0, symbol_count_ = 0, next_ = 0;
  uint64_t strings_ = 0, string_bytes_ = 0;
};

}  // namespace fb::redirect
