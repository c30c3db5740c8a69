#include "judge/data/dictionary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "judge/data/call_data.h"
#include "judge/data/elements.h"

namespace fb::judge {
namespace {

using catalog::DType;

bool has(const std::vector<uint64_t>& values, uint64_t value) {
  return std::ranges::find(values, value) != values.end();
}

TEST(Dictionary, TakesImmediatesAndInitialValuesFromPtx) {
  const auto values = constants_of_ptx(
      "\n.version 8.4\n.target sm_90\n"
      ".global .align 4 .u32 empty = 305419896;\n"
      ".loc 1 4711 3\n"
      "setp.eq.s32 %p1, %r1, -2147483648;\n"
      "mov.b32 %r2, 0xDEAD;\n"
      "mov.f32 %f7, 0f7FC00001;\n"
      "mov.f64 %fd1, 0d7FF8000000000002;\n"
      "@%p1 bra $L__BB0_99;\n");
  EXPECT_TRUE(has(values, 305419896));
  EXPECT_TRUE(has(values, static_cast<uint64_t>(int64_t{-2147483648})));
  EXPECT_TRUE(has(values, 0xDEAD));
  EXPECT_TRUE(has(values, 0x7FC00001));
  EXPECT_TRUE(has(values, 0x7FF8000000000002));
  for (const uint64_t no : {4711, 90, 99}) EXPECT_FALSE(has(values, no)) << no << " is no constant of the code";
}

TEST(Dictionary, TakesImmediatesFromHostCode) {
  // mov edi, 0x12345678; movabs rax, 0x1122334455667788; mov dword [rsp+8], 0xCAFEBABE; cmp dword [rax+0x100],
  // 0x7fffff01
  const std::vector<uint8_t> code = {0xBF, 0x78, 0x56, 0x34, 0x12, 0x48, 0xB8, 0x88, 0x77, 0x66, 0x55,
                                     0x44, 0x33, 0x22, 0x11, 0xC7, 0x44, 0x24, 0x08, 0xBE, 0xBA, 0xFE,
                                     0xCA, 0x81, 0xB8, 0x00, 0x01, 0x00, 0x00, 0x01, 0xFF, 0xFF, 0x7F};
  const auto values = constants_of_host_code(std::as_bytes(std::span(code)));
  for (const uint64_t value :
       {uint64_t{0x12345678}, uint64_t{0x1122334455667788}, uint64_t{0xCAFEBABE}, uint64_t{0x7FFFFF01}})
    EXPECT_TRUE(has(values, value)) << std::hex << value;
}

TEST(Dictionary, ADamagedObjectHasNoConstants) {
  EXPECT_TRUE(constants_of_object("/dev/null").empty());
  // The section headers begin 32 bytes before the file, where addresses wrap around.
  const TempDir scratch;
  const std::string path = scratch.path() + "/candidate.so";
  std::string file(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  file.resize(4096, '\xb8');
  const uint64_t before = ~uint64_t{0} - 31;
  file.replace(0x28, sizeof before, reinterpret_cast<const char*>(&before), sizeof before);
  file.replace(0x3a, 2, "\x40\0", 2);  // their size
  write_file(path, file);
  EXPECT_TRUE(constants_of_object(path).empty());
}

catalog::Tensor tensor(DType type, const char* fill) {
  catalog::Tensor t;
  t.dtype = type;
  t.fill = fill;
  return t;
}

TEST(Plant, EveryValueOfTheDictionaryGetsIntoWords) {
  Dictionary dictionary;
  for (uint64_t k = 0; k < 40; ++k) dictionary.constants.push_back(0x1000'0000 + k);
  for (uint32_t k = 0; k < 20; ++k) dictionary.seen.push_back(0x2000'0000 + k);
  std::set<uint32_t> seen;
  std::vector<std::byte> bytes(1023 * 4);
  const auto words = tensor(DType::u32, "bits");
  for (uint64_t call = 0; call < 12; ++call) {
    fill_tensor(words, bytes, call);
    plant(words, bytes, dictionary, 0, call);
    for (size_t k = 0; k < bytes.size(); k += 4) {
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + k, 4);
      seen.insert(word);
    }
  }
  for (const uint64_t value : dictionary.constants) EXPECT_TRUE(seen.contains(static_cast<uint32_t>(value))) << value;
  for (const uint32_t value : dictionary.seen) EXPECT_TRUE(seen.contains(value)) << value;
  for (const uint32_t value : {0u, ~0u, 0x80000000u, 0xdeadbeefu}) EXPECT_TRUE(seen.contains(value)) << value;
}

TEST(Plant, MostElementsStayAsTheyWere) {
  std::vector<std::byte> bytes(4096 * 4), planted;
  const auto words = tensor(DType::u32, "bits");
  fill_tensor(words, bytes, 1);
  planted = bytes;
  plant(words, planted, {.seen = {5}}, 0, 2);
  size_t changed = 0;
  for (size_t k = 0; k < bytes.size(); k += 4) changed += std::memcmp(&bytes[k], &planted[k], 4) != 0;
  EXPECT_GT(changed, 4096u / 20);
  EXPECT_LT(changed, 4096u / 6);
}

TEST(Plant, NumbersStayInTheRangeOfTheirFill) {
  Dictionary dictionary{.constants = {0x7fc00000, 0x7f800000, 0x42f60000, 0x3f800000, 0x80000000, 0x41000000},
                        .seen = {0x3e000000, 0xbf800000}};
  for (const char* fill : {"spread", "unit", "integers"}) {
    bool zero = false, minus_zero = false;
    const auto numbers = tensor(DType::f32, fill);
    std::vector<std::byte> bytes(4096 * 4);
    for (uint64_t call = 0; call < 8; ++call) {
      fill_tensor(numbers, bytes, call);
      plant(numbers, bytes, dictionary, 0, call);
      for (size_t k = 0; k < bytes.size(); k += 4) {
        const double value = read_element(DType::f32, bytes.data() + k);
        ASSERT_TRUE(std::isfinite(value));
        ASSERT_LE(std::fabs(value), 32) << fill;
        zero |= value == 0 && !std::signbit(value);
        minus_zero |= value == 0 && std::signbit(value);
      }
    }
    EXPECT_TRUE(zero && minus_zero) << fill;
  }
}

TEST(Plant, WhatTheOracleWritesIsLeftAlone) {
  std::vector<std::byte> bytes(4096), before;
  const auto indices = tensor(DType::i32, "none");
  fill_tensor(indices, bytes, 1);
  before = bytes;
  plant(indices, bytes, {.seen = {5}}, 0, 2);
  EXPECT_EQ(bytes, before);
}

TEST(Plant, SmallTensorsAreNotLeftOut) {
  const auto words = tensor(DType::u32, "bits");
  size_t changed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<std::byte> bytes(4), before;
    fill_tensor(words, bytes, seed);
    before = bytes;
    plant(words, bytes, {.seen = {5}}, 0, seed);
    changed += bytes != before;
  }
  EXPECT_GT(changed, 8u);
}

}  // namespace
}  // namespace fb::judge
