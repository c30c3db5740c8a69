// Any bytes as an object file, a shared object or a static library: views stay inside of the bytes, and what reads them
// must not crash, hang or use much memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/base/elf_view.h"
#include "judge/build/symbols.h"
#include "ranks/shim/redirect/elf_functions.h"
#include "toolchain/device/kernel_names.h"
#include "toolchain/device/object_file.h"

namespace {

void check_inside(std::string_view part, std::string_view bytes) {
  if (part.empty()) return;
  FB_CHECK(part.data() >= bytes.data() && part.size() <= bytes.size(), "a view begins before the file");
  FB_CHECK(static_cast<size_t>(part.data() - bytes.data()) <= bytes.size() - part.size(),
           "a view ends behind the file");
}

void look(std::string_view bytes) {
  const auto elf = fb::ElfView::of(bytes);
  if (!elf) return;
  for (const Elf64_Shdr& section : elf->sections()) {
    check_inside(elf->contents(section), bytes);
    check_inside(elf->name(section).value_or(std::string_view()), bytes);
    const auto symbols = elf->symbols(section);
    if (!symbols) continue;
    for (const Elf64_Sym& symbol : symbols->table) {
      check_inside(symbols->name(symbol).value_or(std::string_view()), bytes);
      const auto place = elf->place_of(symbol.st_value);
      FB_CHECK(!place || *place < bytes.size(), "a place behind the file");
    }
  }
}

// What a library that is loaded before all others reads of programs.
void read_functions(std::string_view bytes) {
  fb::redirect::ElfFunctions functions({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  fb::redirect::ElfFunction function{};
  while (functions.next(function)) check_inside(std::string_view(function.name, std::strlen(function.name) + 1), bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  look(bytes);
  read_functions(bytes);
  (void)fb::judge::check_object(bytes, {});
  // Of a damaged file, which may have tables in its own headers, no more is known than that it grows.
  const std::string named = fb::toolchain::with_kernel_names(std::string(bytes));
  FB_CHECK(named.size() >= size, "a shorter file");
  look(named);
  (void)fb::toolchain::with_kernel_names(named);
  // The members of a thin library are other files.
  if (!bytes.starts_with("!<thin>")) (void)fb::toolchain::objects_in("input", bytes);
  return 0;
}
