#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "ranks/shim/redirect/elf_functions.h"
#include "ranks/shim/redirect/jump.h"

// Functions with C names, so that the file's symbols are known.
extern "C" {
[[gnu::noinline, gnu::aligned(16)]] int redirect_test_before(int value) {
  asm volatile("");
  return value + 1;
}
[[gnu::noinline]] int redirect_test_behind(int value) {
  asm volatile("");
  return value * 100;
}
}

namespace fb::redirect {
namespace {

std::string own_file() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, uint64_t> functions_of(const std::string& file) {
  std::map<std::string, uint64_t> found;
  ElfFunctions functions(std::as_bytes(std::span(file)));
  ElfFunction one;
  while (functions.next(one)) found[one.name] = one.address;
  return found;
}

TEST(ElfFunctions, ListsWhatAFileDefines) {
  const auto found = functions_of(own_file());
  ASSERT_TRUE(found.contains("redirect_test_before"));
  ASSERT_TRUE(found.contains("redirect_test_behind"));
  // Addresses are those in memory, but for where the file was loaded.
  const auto distance =
      reinterpret_cast<uintptr_t>(&redirect_test_behind) - reinterpret_cast<uintptr_t>(&redirect_test_before);
  EXPECT_EQ(found.at("redirect_test_behind") - found.at("redirect_test_before"), distance);
  // A function of the C library might be a sanitizer's own, and defined here.
  EXPECT_FALSE(found.contains("_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode"))
      << "the constructor in own_file() is used here and defined elsewhere";
}

TEST(ElfFunctions, MalformedFilesHaveNone) {
  EXPECT_TRUE(functions_of("").empty());
  EXPECT_TRUE(functions_of("#!/bin/sh\necho not an ELF file, and longer than a header of sixty-four bytes\n").empty());
  const std::string good = own_file();
  // Cut anywhere: what is left is read and nothing else.
  for (size_t bytes = 0; bytes < good.size(); bytes += good.size() / 97 + 1) functions_of(good.substr(0, bytes));
  // Each byte of the header wrong, one after the other.
  for (size_t k = 0; k < 64; ++k) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[k] = value;
      functions_of(bad);
    }
  }
}

TEST(Jump, AFunctionBecomesAnother) {
  EXPECT_EQ(redirect_test_before(3), 4);
  ASSERT_TRUE(
      write_jump(reinterpret_cast<void*>(&redirect_test_before), reinterpret_cast<const void*>(&redirect_test_behind)));
  EXPECT_EQ(redirect_test_before(3), 300);
}

}  // namespace
}  // namespace fb::redirect
