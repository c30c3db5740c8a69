#include "judge/build/symbols.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "common/base/elf_view.h"
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

// The dynamic part of an object, by the addresses that the loader uses.
class Object {
 public:
  explicit Object(std::string_view bytes) : elf_(ElfView::of(bytes)) {}

  // Reads the headers; false where this is no object that our linkers make.
  bool open() {
    if (!elf_ || elf_->header().e_type != ET_DYN || elf_->header().e_machine != EM_X86_64) return false;
    std::optional<Elf64_Phdr> dynamic;
    for (const Elf64_Phdr& segment : elf_->segments()) {
      if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    }
    return dynamic && read_dynamic(*dynamic);
  }

  // Names; false where one lies outside the file.
  bool read_needed(std::vector<std::string>& names) const {
    for (const uint64_t offset : needed_) {
      const auto name = string_at(strings_, offset);
      if (!name) return false;
      names.emplace_back(*name);
    }
    return true;
  }

  bool read_undefined(std::vector<std::string>& names) const {
    // The hash table's second word is the number of symbols.
    const auto table = elf_->place_of(hash_), first = elf_->place_of(symbols_);
    const auto count = table ? struct_at<uint32_t>(elf_->file(), *table + sizeof(uint32_t)) : std::nullopt;
    if (!count || !first) return false;
    const ElfTable<Elf64_Sym> symbols(elf_->file(), *first, *count);
    if (symbols.size() != *count) return false;
    for (uint64_t i = 1; i < symbols.size(); ++i) {
      const Elf64_Sym symbol = *symbols.at(i);
      if (symbol.st_shndx != SHN_UNDEF) continue;
      const auto name = string_at(strings_, symbol.st_name);
      if (!name) return false;
      if (!name->empty()) names.emplace_back(*name);
    }
    return true;
  }

 private:
  bool read_dynamic(const Elf64_Phdr& segment) {
    const auto entries = part_of(elf_->file(), segment.p_offset, segment.p_filesz);
    if (!entries) return false;
    uint64_t strings = 0, strings_size = 0;
    for (const Elf64_Dyn& entry : ElfTable<Elf64_Dyn>(*entries)) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) needed_.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
      if (entry.d_tag == DT_SYMTAB) symbols_ = entry.d_un.d_ptr;
      if (entry.d_tag == DT_HASH) hash_ = entry.d_un.d_ptr;
    }
    const auto place = elf_->place_of(strings);
    const auto table = place ? part_of(elf_->file(), *place, strings_size) : std::nullopt;
    strings_ = table.value_or(std::string_view());
    return table && strings != 0 && symbols_ != 0 && hash_ != 0;
  }

  std::optional<ElfView> elf_;
  std::vector<uint64_t> needed_;
  std::string_view strings_;
  uint64_t symbols_ = 0, hash_ = 0;
};

struct Names {
  std::vector<std::string> undefined, needed;
};

Result<Names> read_names(std::string_view bytes) {
  Object object(bytes);
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

Result<std::vector<Violation>> check_object(std::string_view bytes, const catalog::Rules& rules) {
  const auto names = read_names(bytes);
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
