#include "ranks/shim/redirect/elf_functions.h"

#include <elf.h>

#include <cstring>

namespace fb::redirect {

struct SectionFacts {
  Elf64_Shdr header;
};

template <class T>
bool ElfFunctions::read(uint64_t at, T& value) const {
  if (at > file_.size() || file_.size() - at < sizeof value) return false;
  std::memcpy(&value, file_.data() + at, sizeof value);
  return true;
}

bool ElfFunctions::section(uint32_t index, SectionFacts& facts) const {
  return index < section_count_ && read(sections_ + index * sizeof facts.header, facts.header);
}

const char* ElfFunctions::text(uint64_t table, uint64_t table_bytes, uint64_t at) const {
  if (table > file_.size() || table_bytes > file_.size() - table || at >= table_bytes) return nullptr;
  const auto* const begin = reinterpret_cast<const char*>(file_.data() + table + at);
  return std::memchr(begin, 0, table_bytes - at) != nullptr ? begin : nullptr;
}

ElfFunctions::ElfFunctions(std::span<const std::byte> file) : file_(file) {
  Elf64_Ehdr header;
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return;
  if (header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  sections_ = header.e_shoff;
  section_count_ = header.e_shnum;
  for (const uint32_t wanted : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
    for (uint32_t k = 0; k < section_count_; ++k) {
      SectionFacts symbols, strings;
      if (!section(k, symbols) || symbols.header.sh_type != wanted) continue;
      if (symbols.header.sh_entsize != sizeof(Elf64_Sym) || !section(symbols.header.sh_link, strings)) continue;
      symbols_ = symbols.header.sh_offset;
      symbol_count_ = symbols.header.sh_size / sizeof(Elf64_Sym);
      strings_ = strings.header.sh_offset;
      string_bytes_ = strings.header.sh_size;
      return;
    }
  }
}

bool ElfFunctions::next(ElfFunction& function) {
  while (next_ < symbol_count_) {
    Elf64_Sym symbol;
    if (!read(symbols_ + next_++ * sizeof symbol, symbol)) return false;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
    function.name = text(strings_, string_bytes_, symbol.st_name);
    function.address = symbol.st_value;
    function.bytes = symbol.st_size;
    if (function.name) return true;
  }
  return false;
}

}  // namespace fb::redirect
