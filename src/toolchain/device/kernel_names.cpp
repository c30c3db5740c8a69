#include "toolchain/device/kernel_names.h"

#include <elf.h>

#include <charconv>
#include <cstring>
#include <set>
#include <vector>

namespace fb::toolchain {
namespace {

constexpr std::string_view kStub = "__device_stub__";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
T read_at(const std::string& bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
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
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  const auto section_at = [&](uint64_t k) { return header.e_shoff + k * sizeof(Elf64_Shdr); };
  uint64_t symbols_number = 0;
  while (symbols_number < header.e_shnum &&
         read_at<Elf64_Shdr>(object, section_at(symbols_number)).sh_type != SHT_SYMTAB)
    ++symbols_number;
  if (symbols_number == header.e_shnum) return object;
  auto symbols = read_at<Elf64_Shdr>(object, section_at(symbols_number));
  auto strings = read_at<Elf64_Shdr>(object, section_at(symbols.sh_link));
  std::string table = object.substr(symbols.sh_offset, symbols.sh_size);
  std::string names = object.substr(strings.sh_offset, strings.sh_size);

  std::set<std::string> known;
  std::vector<Elf64_Sym> stubs;
  std::vector<std::string> kernels;
  for (uint64_t at = 0; at < table.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = read_at<Elf64_Sym>(table, at);
    const std::string name = names.c_str() + symbol.st_name;
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
