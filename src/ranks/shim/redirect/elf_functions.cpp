#include "ranks/shim/redirect/elf_functions.h"

namespace fb::redirect {

ElfFunctions::ElfFunctions(std::span<const std::byte> file) {
  const auto elf = ElfView::of({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!elf || elf->header().e_machine != EM_X86_64) return;
  for (const uint32_t wanted : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
    for (const Elf64_Shdr& section : elf->sections()) {
      if (section.sh_type != wanted) continue;
      if (const auto symbols = elf->symbols(section)) {
        symbols_ = *symbols;
        return;
      }
    }
  }
}

bool ElfFunctions::next(ElfFunction& function) {
  while (const auto symbol = symbols_.table.at(next_)) {
    ++next_;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0) continue;
    const auto name = symbols_.name(*symbol);
    if (!name) continue;
    // A zero is behind it in the table.
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
    function = {.name = name->data(), .address = symbol->st_value, .bytes = symbol->st_size};
    return true;
  }
  return false;
}

}  // namespace fb::redirect
