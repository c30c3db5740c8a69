#include "judge/build/symbols.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "common/base/strings.h"
#include "judge/catalog/libraries.h"

namespace fb::judge {
namespace {

struct Forbidden {
  std::string_view pattern, why;
};

constexpr auto kForbidden = std::to_array<Forbidden>({
#define FORBID(name, why) {name, why},
#define LIBRARY(name)
#include "judge/build/forbidden_symbols.def"
#undef FORBID
#undef LIBRARY
});

constexpr auto kLibraries = std::to_array<std::string_view>({
#define FORBID(name, why)
#define LIBRARY(name) name,
#include "judge/build/forbidden_symbols.def"
#undef FORBID
#undef LIBRARY
});

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

// A function of a library that the problem allows.
bool is_allowed(std::string_view symbol, const catalog::Rules& rules) {
  const catalog::Library* library = catalog::library_of_symbol(symbol);
  return library != nullptr && rules.allows(library->name);
}

// The dynamic part of an object, by the addresses that the loader uses. Every read is checked against the file's end.
class Object {
 public:
  explicit Object(std::string bytes) : bytes_(std::move(bytes)) {}

  // Reads the headers; false where this is no object that our linkers make.
  bool open() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN || header->e_machine != EM_X86_64 ||
        header->e_phentsize != sizeof(Elf64_Phdr)) {
      return false;
    }
    std::optional<Elf64_Phdr> dynamic;
    for (uint64_t i = 0; i < header->e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
      if (!segment) return false;
      if (segment->p_type == PT_LOAD) loads_.push_back(*segment);
      if (segment->p_type == PT_DYNAMIC) dynamic = segment;
    }
    return dynamic && read_dynamic(*dynamic);
  }

  // Names; false where one lies outside the file.
  bool read_needed(std::vector<std::string>& names) const {
    for (const uint64_t offset : needed_) {
      const auto name = string_at(offset);
      if (!name) return false;
      names.push_back(*name);
    }
    return true;
  }

  bool read_undefined(std::vector<std::string>& names) const {
    // The hash table's second word is the number of symbols.
    const auto table = in_file(hash_), symbols = in_file(symbols_);
    const auto count = table ? at<uint32_t>(*table + sizeof(uint32_t)) : std::nullopt;
    if (!count || !symbols) return false;
    for (uint64_t i = 1; i < *count; ++i) {
      const auto symbol = at<Elf64_Sym>(*symbols + i * sizeof(Elf64_Sym));
      if (!symbol) return false;
      if (symbol->st_shndx != SHN_UNDEF) continue;
      const auto name = string_at(symbol->st_name);
      if (!name) return false;
      if (!name->empty()) names.push_back(*name);
    }
    return true;
  }

 private:
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  // Where the file holds an address.
  std::optional<uint64_t> in_file(uint64_t address) const {
    for (const auto& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz) {
        const uint64_t offset = load.p_offset + (address - load.p_vaddr);
        if (offset >= load.p_offset && offset < bytes_.size()) return offset;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> string_at(uint64_t offset) const {
    const auto strings = in_file(strings_);
    if (!strings || offset >= strings_size_ || *strings + offset >= bytes_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(bytes_).substr(*strings + offset);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return std::string(rest.substr(0, end));
  }

  bool read_dynamic(const Elf64_Phdr& segment) {
    for (uint64_t i = 0; (i + 1) * sizeof(Elf64_Dyn) <= segment.p_filesz; ++i) {
      const auto entry = at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry) return false;
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) needed_.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings_ = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRSZ) strings_size_ = entry->d_un.d_val;
      if (entry->d_tag == DT_SYMTAB) symbols_ = entry->d_un.d_ptr;
      if (entry->d_tag == DT_HASH) hash_ = entry->d_un.d_ptr;
    }
    return strings_ != 0 && symbols_ != 0 && hash_ != 0;
  }

  std::string bytes_;
  std::vector<Elf64_Phdr> loads_;
  std::vector<uint64_t> needed_;
  uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0, hash_ = 0;
};

struct Names {
  std::vector<std::string> undefined, needed;
};

Result<Names> read_names(std::string bytes) {
  Object object(std::move(bytes));
  Names names;
  if (!object.open() || !object.read_undefined(names.undefined) || !object.read_needed(names.needed)) {
    return error("this is no shared object, or a broken one");
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> undefined_symbols(const std::string& path) {
  auto names = read_names(read_file(path));
  if (!names) return std::unexpected(std::move(names.error()));
  return std::move(names->undefined);
}

Result<std::vector<Violation>> check_symbols(const std::string& path, const catalog::Rules& rules) {
  return check_object(read_file(path), rules);
}

Result<std::vector<Violation>> check_object(std::string bytes, const catalog::Rules& rules) {
  const auto names = read_names(std::move(bytes));
  if (!names) return std::unexpected(names.error());
  std::vector<Violation> found;
  for (const auto& symbol : names->undefined) {
    const auto common = std::ranges::find_if(kForbidden, [&](const auto& f) { return matches(symbol, f.pattern); });
    if (common != kForbidden.end() && !is_allowed(symbol, rules)) {
      found.push_back({symbol, std::string(common->why)});
    } else if (std::ranges::any_of(rules.forbid_symbols,
                                   [&](const auto& pattern) { return matches(symbol, pattern); })) {
      found.push_back({symbol, "this problem forbids it"});
    }
  }
  for (const auto& library : names->needed) {
    const auto is_object = [&](const std::string& name) { return catalog::find_library(name)->object == library; };
    if (std::ranges::none_of(kLibraries, [&](auto known) { return matches(library, known); }) &&
        std::ranges::none_of(rules.libraries, is_object)) {
      found.push_back({library, "a candidate may be linked with the libraries of C++ and CUDA alone"});
    }
  }
  return found;
}

}  // namespace fb::judge
