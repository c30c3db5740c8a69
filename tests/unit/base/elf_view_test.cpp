#include "common/base/elf_view.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace fb {
namespace {

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A file with code at address 0x1000, two symbols, and the sections "", ".text", ".symtab", ".strtab", ".shstrtab".
struct File {
  Elf64_Ehdr header = {};
  Elf64_Phdr load = {};
  std::vector<Elf64_Shdr> sections;
  std::string code = "machine code", names, strings;
  std::vector<Elf64_Sym> symbols;

  File() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    strings.assign("\0first\0second\0", 14);
    symbols.resize(3);
    symbols[1].st_name = 1;
    symbols[2].st_name = 7;
    uint64_t at = sizeof header + sizeof load;
    const auto add = [&](const std::string& name, uint32_t type, uint64_t size) {
      sections.push_back({.sh_name = static_cast<Elf64_Word>(names.size()),
                          .sh_type = type,
                          .sh_flags = 0,
                          .sh_addr = 0,
                          .sh_offset = at,
                          .sh_size = size,
                          .sh_link = 0,
                          .sh_info = 0,
                          .sh_addralign = 1,
                          .sh_entsize = 0});
      names.append(name.c_str(), name.size() + 1);
      at += size;
    };
    add("", SHT_NULL, 0);
    add(".text", SHT_PROGBITS, code.size());
    add(".symtab", SHT_SYMTAB, symbols.size() * sizeof(Elf64_Sym));
    sections.back().sh_link = 3;
    sections.back().sh_entsize = sizeof(Elf64_Sym);
    add(".strtab", SHT_STRTAB, strings.size());
    add(".shstrtab", SHT_STRTAB, 0);
    sections.back().sh_size = names.size();
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    header.e_shoff = at + names.size();
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = 4;
    load.p_type = PT_LOAD;
    load.p_offset = sections[1].sh_offset;
    load.p_vaddr = 0x1000;
    load.p_filesz = load.p_memsz = code.size();
  }

  std::string bytes() const {
    std::string all;
    append(all, header);
    append(all, load);
    all += code;
    for (const auto& symbol : symbols) append(all, symbol);
    all += strings + names;
    for (const auto& section : sections) append(all, section);
    return all;
  }
};

// Bytes at the very end of a buffer of their own, where a sanitizer sees each read beyond them, and before them.
struct Exact {
  explicit Exact(std::string_view text) : bytes(text.begin(), text.end()) {}
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  std::vector<char> bytes;
};

// Reads all that can be read: a sum of the bytes.
uint64_t read_everything(std::string_view file) {
  const auto elf = ElfView::of(file);
  if (!elf) return 0;
  uint64_t sum = 0;
  const auto look_at = [&](std::string_view text) {
    for (const char c : text) sum += 1u + static_cast<unsigned char>(c);
  };
  for (const Elf64_Shdr& section : elf->sections()) {
    look_at(elf->name(section).value_or(""));
    look_at(elf->contents(section));
    const auto symbols = elf->symbols(section);
    if (!symbols) continue;
    for (const Elf64_Sym& symbol : symbols->table) look_at(symbols->name(symbol).value_or(""));
  }
  for (const Elf64_Phdr& segment : elf->segments()) {
    const auto place = elf->place_of(segment.p_vaddr);
    if (place) look_at(file.substr(*place));
  }
  return sum;
}

TEST(ElfView, ReadsWhatAFileHas) {
  const std::string file = File().bytes();
  const auto elf = ElfView::of(file);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->header().e_machine, EM_X86_64);
  ASSERT_EQ(elf->sections().size(), 5u);
  EXPECT_EQ(elf->name(*elf->sections().at(1)), ".text");
  EXPECT_EQ(elf->contents(*elf->sections().at(1)), "machine code");
  EXPECT_FALSE(elf->sections().at(5));
  const auto symbols = elf->symbols(*elf->sections().at(2));
  ASSERT_TRUE(symbols);
  ASSERT_EQ(symbols->table.size(), 3u);
  EXPECT_EQ(symbols->name(*symbols->table.at(1)), "first");
  EXPECT_EQ(symbols->name(*symbols->table.at(2)), "second");
  EXPECT_FALSE(elf->symbols(*elf->sections().at(1))) << "entries of another size";
  ASSERT_TRUE(elf->place_of(0x1008));
  EXPECT_EQ(file.substr(*elf->place_of(0x1008), 4), "code");
  EXPECT_FALSE(elf->place_of(0xfff));
  EXPECT_FALSE(elf->place_of(0x100c));
}

TEST(ElfView, OtherFilesAreNone) {
  EXPECT_FALSE(ElfView::of(""));
  EXPECT_FALSE(ElfView::of(std::string(4096, 'x')));
  for (const size_t at : {size_t{0}, size_t{EI_CLASS}, size_t{EI_DATA}}) {
    std::string bent = File().bytes();
    bent[at] = 7;
    EXPECT_FALSE(ElfView::of(bent)) << at;
  }
}

TEST(ElfView, FilesThatAreCutOffAreReadToTheirEnd) {
  const std::string whole = File().bytes();
  const uint64_t all = read_everything(whole);
  EXPECT_GT(all, 0u);
  for (size_t size = 0; size < whole.size(); ++size) {
    const Exact cut(std::string_view(whole).substr(0, size));
    EXPECT_LT(read_everything(cut.view()), all) << size;
    EXPECT_EQ(ElfView::of(cut.view()).has_value(), size >= sizeof(Elf64_Ehdr)) << size;
  }
}

// Sums with these wrap around to places inside of the file, or before it.
TEST(ElfView, PlacesNearTheEndOfTheNumbersAreOutside) {
  for (uint64_t back = 0; back < 200; ++back) {
    const uint64_t far = kLast - back;
    File file;
    file.header.e_shoff = far;
    EXPECT_TRUE(ElfView::of(Exact(file.bytes()).view())->sections().empty()) << back;
    file = {};
    file.header.e_phoff = far;
    EXPECT_TRUE(ElfView::of(Exact(file.bytes()).view())->segments().empty()) << back;
    for (Elf64_Off Elf64_Shdr::* const member : {&Elf64_Shdr::sh_offset, &Elf64_Shdr::sh_size}) {
      file = {};
      file.sections[1].*member = far;
      const Exact bytes(file.bytes());
      const auto elf = ElfView::of(bytes.view());
      EXPECT_TRUE(elf->contents(*elf->sections().at(1)).empty()) << back;
    }
    file = {};
    file.load.p_offset = far;
    const Exact moved(file.bytes());
    EXPECT_FALSE(ElfView::of(moved.view())->place_of(0x1004)) << back;
    file = {};
    file.load.p_vaddr = far;
    file.load.p_filesz = kLast;
    const Exact high(file.bytes());
    const auto place = ElfView::of(high.view())->place_of(kLast);
    ASSERT_TRUE(place) << back;
    EXPECT_EQ(*place, file.load.p_offset + back);
    EXPECT_FALSE(ElfView::of(high.view())->place_of(3)) << "addresses do not wrap around";
  }
}

TEST(ElfView, CountsWhoseProductsWrapAroundAreOutside) {
  File file;
  file.header.e_shnum = 0;  // then the first section has it
  file.sections[0].sh_size = 5;
  EXPECT_EQ(ElfView::of(Exact(file.bytes()).view())->sections().size(), 5u);
  for (const uint64_t count : {uint64_t{1} << 58, (uint64_t{1} << 58) + 1, kLast, kLast / sizeof(Elf64_Shdr) + 2}) {
    file.sections[0].sh_size = count;
    EXPECT_TRUE(ElfView::of(Exact(file.bytes()).view())->sections().empty()) << count;
  }
  file = {};
  file.header.e_shnum = 0xffff;
  EXPECT_TRUE(ElfView::of(Exact(file.bytes()).view())->sections().empty());
  const ElfTable<uint64_t> table("01234567", 0, (uint64_t{1} << 61) + 1);
  EXPECT_TRUE(table.empty());
}

TEST(ElfView, NamesEndInsideOfTheirTable) {
  File file;
  file.strings.back() = 'd';
  const Exact bytes(file.bytes());
  const auto elf = ElfView::of(bytes.view());
  const auto symbols = elf->symbols(*elf->sections().at(2));
  EXPECT_EQ(symbols->name(*symbols->table.at(1)), "first");
  EXPECT_FALSE(symbols->name(*symbols->table.at(2))) << "goes on into the table behind it";
  Elf64_Sym outside = {};
  outside.st_name = static_cast<Elf64_Word>(file.strings.size());
  EXPECT_FALSE(symbols->name(outside));
  outside.st_name = std::numeric_limits<Elf64_Word>::max();
  EXPECT_FALSE(symbols->name(outside));
}

TEST(ElfView, LinksToSectionsThatAreNotThereAreNone) {
  File file;
  file.header.e_shstrndx = 77;
  file.sections[2].sh_link = std::numeric_limits<Elf64_Word>::max();
  const Exact bytes(file.bytes());
  const auto elf = ElfView::of(bytes.view());
  EXPECT_FALSE(elf->name(*elf->sections().at(1)));
  EXPECT_FALSE(elf->symbols(*elf->sections().at(2)));
  file.header.e_shstrndx = SHN_XINDEX;  // then the first section has it
  file.sections[0].sh_link = 4;
  const Exact linked(file.bytes());
  EXPECT_EQ(ElfView::of(linked.view())->name(*elf->sections().at(1)), ".text");
}

TEST(ElfView, EachByteMayBeWrong) {
  const std::string whole = File().bytes();
  uint64_t read = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string bent = whole;
      bent[at] = value;
      read += read_everything(Exact(bent).view()) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(read, whole.size()) << "most are read all the same";
}

}  // namespace
}  // namespace fb
