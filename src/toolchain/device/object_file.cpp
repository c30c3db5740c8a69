#include "toolchain/device/object_file.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/base/elf_view.h"
#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kArchive = "!<arch>\n", kThinArchive = "!<thin>\n";

void read_symbols(const ElfSymbols& symbols, ObjectFile& object) {
  for (const Elf64_Sym& symbol : symbols.table) {
    const std::string name(symbols.name(symbol).value_or(std::string_view()));
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || name.empty()) continue;
    if (symbol.st_shndx != SHN_UNDEF) {
      object.defines.push_back(name);
    } else if (ELF64_ST_BIND(symbol.st_info) != STB_WEAK) {
      object.needs.push_back(name);
    }
  }
}

std::optional<ObjectFile> read_object(std::string name, std::string_view bytes) {
  const auto elf = ElfView::of(bytes);
  if (!elf || elf->header().e_type != ET_REL || elf->sections().empty()) return std::nullopt;
  ObjectFile object;
  object.name = std::move(name);
  for (const Elf64_Shdr& section : elf->sections()) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (const auto symbols = elf->symbols(section)) read_symbols(*symbols, object);
  }
  for (const std::string& needed : object.needs) {
    if (needed.starts_with(kRegisterLinkedBinary)) object.module_id = needed.substr(kRegisterLinkedBinary.size());
  }
  if (object.module_id.empty()) return object;
  for (const Elf64_Shdr& section : elf->sections()) {
    if (elf->name(section) != "__nv_relfatbin") continue;
    const std::string_view contents = elf->contents(section);
    const std::string_view code = contents.substr(0, contents.find('\0'));
    if (code.contains(".version")) object.device_code = code;
    break;
  }
  return object;
}

uint64_t padded_number(std::string_view text) {
  uint64_t number = 0;
  text = trim(text);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The format of ar: a header of 60 bytes before each member; long names are in the member "//".
Result<std::vector<ObjectFile>> read_archive(const std::string& path, std::string_view bytes) {
  constexpr size_t kHeader = 60;
  const bool thin = bytes.starts_with(kThinArchive);
  std::vector<ObjectFile> members;
  std::string_view long_names;
  for (uint64_t at = kArchive.size(); at + kHeader <= bytes.size();) {
    const std::string_view header = bytes.substr(at, kHeader);
    if (!header.ends_with("`\n")) return error(fmt::format("{}: damaged library", path));
    const uint64_t size = padded_number(header.substr(48, 10));
    std::string name(trim(header.substr(0, 16)));
    const bool is_table = name == "/" || name == "//" || name == "/SYM64/";
    const bool apart = thin && !is_table;
    const auto inside = apart ? std::string_view() : part_of(bytes, at + kHeader, size);
    if (!inside) return error(fmt::format("{}: damaged library", path));
    at += kHeader + (apart ? 0 : size + size % 2);
    if (name == "//") long_names = *inside;
    if (is_table) continue;
    if (name.starts_with('/')) {
      const std::string_view full =
          long_names.substr(std::min<size_t>(padded_number(name.substr(1)), long_names.size()));
      name = full.substr(0, full.find('\n'));
    }
    if (name.ends_with('/')) name.pop_back();
    std::string of_thin;
    if (apart) of_thin = read_file((std::filesystem::path(path).parent_path() / name).string());
    auto member = read_object(fmt::format("{}({})", path, name), apart ? of_thin : *inside);
    if (member) members.push_back(std::move(*member));
  }
  return members;
}

}  // namespace

Result<std::vector<ObjectFile>> read_objects(const std::string& path) { return objects_in(path, read_file(path)); }

Result<std::vector<ObjectFile>> objects_in(const std::string& path, std::string_view bytes) {
  if (bytes.starts_with(kArchive) || bytes.starts_with(kThinArchive)) return read_archive(path, bytes);
  std::vector<ObjectFile> one;
  if (auto object = read_object(path, bytes)) one.push_back(std::move(*object));
  return one;
}

}  // namespace fb::toolchain
