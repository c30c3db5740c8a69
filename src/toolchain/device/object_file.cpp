#include "toolchain/device/object_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kArchive = "!<arch>\n", kThinArchive = "!<thin>\n";

template <class T>
std::optional<T> read_at(std::string_view bytes, uint64_t at) {
  T value;
  if (at > bytes.size() || bytes.size() - at < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string_view piece(std::string_view bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return {};
  return bytes.substr(at, size);
}

std::string_view text_at(std::string_view bytes, uint64_t at) {
  if (at >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(at);
  return rest.substr(0, rest.find('\0'));
}

class Elf {
 public:
  explicit Elf(std::string_view bytes) : bytes_(bytes) {
    const auto header = read_at<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_type != ET_REL || header->e_shentsize != sizeof(Elf64_Shdr))
      return;
    const auto first = read_at<Elf64_Shdr>(bytes, header->e_shoff);
    if (!first) return;
    const uint64_t count = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
    const uint64_t names = header->e_shstrndx == SHN_XINDEX ? first->sh_link : header->e_shstrndx;
    for (uint64_t k = 0; k < count; ++k) {
      const auto section = read_at<Elf64_Shdr>(bytes, header->e_shoff + k * sizeof(Elf64_Shdr));
      if (!section) return;
      sections_.push_back(*section);
    }
    if (names < sections_.size()) names_ = content(sections_[names]);
  }

  bool is_object() const { return !sections_.empty(); }

  std::string_view section(std::string_view name) const {
    for (const Elf64_Shdr& s : sections_) {
      if (text_at(names_, s.sh_name) == name) return content(s);
    }
    return {};
  }

  void read_symbols(ObjectFile& object) const {
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections_.size()) continue;
      const std::string_view table = content(s), strings = content(sections_[s.sh_link]);
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
        const auto symbol = *read_at<Elf64_Sym>(table, at);
        const std::string name(text_at(strings, symbol.st_name));
        if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || name.empty()) continue;
        if (symbol.st_shndx != SHN_UNDEF) {
          object.defines.push_back(name);
        } else if (ELF64_ST_BIND(symbol.st_info) != STB_WEAK) {
          object.needs.push_back(name);
        }
      }
    }
  }

 private:
  std::string_view content(const Elf64_Shdr& s) const {
    return s.sh_type == SHT_NOBITS ? std::string_view() : piece(bytes_, s.sh_offset, s.sh_size);
  }

  std::string_view bytes_, names_;
  std::vector<Elf64_Shdr> sections_;
};

std::optional<ObjectFile> read_object(std::string name, std::string_view bytes) {
  const Elf elf(bytes);
  if (!elf.is_object()) return std::nullopt;
  ObjectFile object;
  object.name = std::move(name);
  elf.read_symbols(object);
  for (const std::string& needed : object.needs) {
    if (needed.starts_with(kRegisterLinkedBinary)) object.module_id = needed.substr(kRegisterLinkedBinary.size());
  }
  if (object.module_id.empty()) return object;
  const std::string_view code = text_at(elf.section("__nv_relfatbin"), 0);
  if (code.find(".version") != std::string_view::npos) object.device_code = code;
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
    const std::string_view content = apart ? std::string_view() : piece(bytes, at + kHeader, size);
    if (!apart && content.size() != size) return error(fmt::format("{}: damaged library", path));
    at += kHeader + (apart ? 0 : size + size % 2);
    if (name == "//") long_names = content;
    if (is_table) continue;
    if (name.starts_with('/')) {
      const std::string_view full =
          long_names.substr(std::min<size_t>(padded_number(name.substr(1)), long_names.size()));
      name = full.substr(0, full.find('\n'));
    }
    if (name.ends_with('/')) name.pop_back();
    std::string of_thin;
    if (apart) of_thin = read_file((std::filesystem::path(path).parent_path() / name).string());
    auto member = read_object(fmt::format("{}({})", path, name), apart ? of_thin : content);
    if (member) members.push_back(std::move(*member));
  }
  return members;
}

}  // namespace

Result<std::vector<ObjectFile>> read_objects(const std::string& path) {
  const std::string bytes = read_file(path);
  if (bytes.starts_with(kArchive) || bytes.starts_with(kThinArchive)) return read_archive(path, bytes);
  std::vector<ObjectFile> one;
  if (auto object = read_object(path, bytes)) one.push_back(std::move(*object));
  return one;
}

}  // namespace fb::toolchain
