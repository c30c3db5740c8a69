#pragma once

// ELF files of 64 bits, little-endian, as bytes in memory that may be damaged on purpose. A place that a header names
// is compared with the end of the file before it is read, without sums or products that overflow; what lies outside is
// none. Nothing here allocates, throws, or needs more than the C library: fabricbench_redirect reads programs before
// the C++ library has started.

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace fb {

// Views are of bytes with a length: nothing reads them up to a zero.
// NOLINTBEGIN(bugprone-suspicious-stringview-data-usage)

// `count` bytes from `at` on. None: they are not all inside.
constexpr std::optional<std::string_view> part_of(std::string_view bytes, uint64_t at, uint64_t count) {
  if (at > bytes.size() || count > bytes.size() - at) return std::nullopt;
  return std::string_view(bytes.data() + at, count);
}

// The bytes at `at` as a plain struct, however they are aligned.
template <class T>
std::optional<T> struct_at(std::string_view bytes, uint64_t at) {
  const auto part = part_of(bytes, at, sizeof(T));
  if (!part) return std::nullopt;
  T value;
  std::memcpy(&value, part->data(), sizeof value);
  return value;
}

// The string that begins at `at`. None: it begins outside, or does not end inside.
constexpr std::optional<std::string_view> string_at(std::string_view bytes, uint64_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const std::string_view rest(bytes.data() + at, bytes.size() - at);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return std::string_view(rest.data(), end);
}

// Plain structs one behind the other. Bytes at the end that are no whole one are left out.
template <class T>
class ElfTable {
 public:
  ElfTable() = default;
  explicit ElfTable(std::string_view bytes) : bytes_(bytes) {}
  // `count` of them from `at` on; empty if they are not all inside.
  ElfTable(std::string_view bytes, uint64_t at, uint64_t count) {
    if (count <= bytes.size() / sizeof(T)) bytes_ = part_of(bytes, at, count * sizeof(T)).value_or(std::string_view());
  }

  uint64_t size() const { return bytes_.size() / sizeof(T); }
  bool empty() const { return size() == 0; }
  std::optional<T> at(uint64_t index) const {
    return index < size() ? struct_at<T>(bytes_, index * sizeof(T)) : std::nullopt;
  }

  class Iterator {
   public:
    explicit Iterator(const char* place) : place_(place) {}
    T operator*() const {
      T value;
      std::memcpy(&value, place_, sizeof value);
      return value;
    }
    Iterator& operator++() {
      place_ += sizeof(T);
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const char* place_;
  };
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + size() * sizeof(T)); }

 private:
  std::string_view bytes_;
};

struct ElfSymbols {
  ElfTable<Elf64_Sym> table = {};
  std::string_view strings = {};

  std::optional<std::string_view> name(const Elf64_Sym& symbol) const { return string_at(strings, symbol.st_name); }
};

// Refers to the bytes, which must outlive it and its parts.
class ElfView {
 public:
  // None: no ELF file of 64 bits, little-endian. Of its tables nothing is known yet.
  static std::optional<ElfView> of(std::string_view file) {
    const auto header = struct_at<Elf64_Ehdr>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
      return std::nullopt;
    return ElfView(file, *header);
  }

  std::string_view file() const { return file_; }
  const Elf64_Ehdr& header() const { return header_; }

  // Empty if there are none, or not all of them are inside.
  const ElfTable<Elf64_Shdr>& sections() const { return sections_; }
  const ElfTable<Elf64_Phdr>& segments() const { return segments_; }

  // Empty: it has none, or they are not all inside.
  std::string_view contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    return part_of(file_, section.sh_offset, section.sh_size).value_or(std::string_view());
  }
  std::optional<std::string_view> name(const Elf64_Shdr& section) const { return string_at(names_, section.sh_name); }

  // Of a section that is a table of symbols. None: entries of another size, or no table of strings belongs to it.
  std::optional<ElfSymbols> symbols(const Elf64_Shdr& section) const {
    const auto strings = sections_.at(section.sh_link);
    if (section.sh_entsize != sizeof(Elf64_Sym) || !strings) return std::nullopt;
    return ElfSymbols{ElfTable<Elf64_Sym>(contents(section)), contents(*strings)};
  }

  // Where the file holds what the loader puts at an address. None: nowhere.
  std::optional<uint64_t> place_of(uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const uint64_t inside = address - segment.p_vaddr;
      if (inside >= segment.p_filesz || segment.p_offset >= file_.size()) continue;
      if (inside < file_.size() - segment.p_offset) return segment.p_offset + inside;
    }
    return std::nullopt;
  }

 private:
  ElfView(std::string_view file, const Elf64_Ehdr& header) : file_(file), header_(header) {
    if (header.e_phentsize == sizeof(Elf64_Phdr))
      segments_ = ElfTable<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
    const auto first = struct_at<Elf64_Shdr>(file, header.e_shoff);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff == 0 || !first) return;
    // Numbers that do not fit into the header are in the first section.
    sections_ = ElfTable<Elf64_Shdr>(file, header.e_shoff, header.e_shnum != 0 ? header.e_shnum : first->sh_size);
    const uint64_t names = header.e_shstrndx == SHN_XINDEX ? first->sh_link : header.e_shstrndx;
    if (const auto section = sections_.at(names)) names_ = contents(*section);
  }

  std::string_view file_;
  Elf64_Ehdr header_;
  ElfTable<Elf64_Shdr> sections_;
  ElfTable<Elf64_Phdr> segments_;
  std::string_view names_;
};

// NOLINTEND(bugprone-suspicious-stringview-data-usage)

}  // namespace fb
