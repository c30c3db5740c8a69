#include "toolchain/device/kernel_names.h"

#include <charconv>
#include <cstring>
#include <set>
#include <vector>

#include "common/base/elf_view.h"
#include "toolchain/device/ptx_names.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kStub = "__device_stub__";

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string kernel_of_stub(std::string_view symbol) {
  const size_t at = symbol.find(kStub);
  if (at == std::string_view::npos) return {};
  size_t digits = at;
  while (digits > 0 && is_digit(symbol[digits - 1])) --digits;
  const std::string_view rest = symbol.substr(at + kStub.size());
  if (digits == at) return at == 0 ? std::string(rest) : std::string();  // extern "C"
  size_t length = 0;
  std::from_chars(symbol.data() + digits, symbol.data() + at, length);
  if (length <= kStub.size()) return {};
  return std::string(symbol.substr(0, digits)) + std::to_string(length - kStub.size()) + std::string(rest);
}

// Tables with the new symbols are appended to the file; the numbers of the old ones stay.
std::string with_kernel_names(std::string object) {
  if (object.find(kStub) == std::string::npos) return object;
  const auto elf = ElfView::of(object);
  if (!elf) return object;
  uint64_t symbols_number = 0;
  for (const Elf64_Shdr& section : elf->sections()) {
    if (section.sh_type == SHT_SYMTAB) break;
    ++symbols_number;
  }
  if (symbols_number == elf->sections().size()) return object;
  auto symbols = *elf->sections().at(symbols_number);
  const auto old = elf->symbols(symbols);
  if (!old || old->table.size() * sizeof(Elf64_Sym) != symbols.sh_size) return object;
  auto strings = *elf->sections().at(symbols.sh_link);
  std::string table(elf->contents(symbols)), names(old->strings);

  std::set<std::string> known;
  std::vector<Elf64_Sym> stubs;
  std::vector<std::string> kernels;
  for (const Elf64_Sym& symbol : old->table) {
    const std::string name(old->name(symbol).value_or(std::string_view()));
    known.insert(name);
    const std::string kernel = kernel_of_stub(name);
    if (kernel.empty() || symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
    stubs.push_back(symbol);
    kernels.push_back(kernel);
  }
  for (size_t k = 0; k < stubs.size(); ++k) {
    if (!known.insert(kernels[k]).second) continue;
    Elf64_Sym symbol = stubs[k];
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    names.append(kernels[k].c_str(), kernels[k].size() + 1);
    append(table, symbol);
  }
  if (table.size() == symbols.sh_size) return object;

  const auto section_at = [table_at = elf->header().e_shoff](uint64_t k) { return table_at + k * sizeof(Elf64_Shdr); };
  object.resize((object.size() + alignof(Elf64_Sym) - 1) / alignof(Elf64_Sym) * alignof(Elf64_Sym));
  symbols.sh_offset = object.size();
  symbols.sh_size = table.size();
  object += table;
  strings.sh_offset = object.size();
  strings.sh_size = names.size();
  object += names;
  std::memcpy(object.data() + section_at(symbols_number), &symbols, sizeof symbols);
  std::memcpy(object.data() + section_at(symbols.sh_link), &strings, sizeof strings);
  return object;
}

}  // namespace fb::toolchain
