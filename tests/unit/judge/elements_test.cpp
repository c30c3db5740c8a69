// What judge and exported folders share: sdk/include/fabricbench/elements.h.

#include <fabricbench/elements.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace fabricbench::oracle {
namespace {

uint16_t by_compiler(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

TEST(Half, EveryHalfHasTheCompilersValue) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const auto expected = static_cast<float>(std::bit_cast<_Float16>(half));
    EXPECT_EQ(std::bit_cast<uint32_t>(half_value(half)), std::bit_cast<uint32_t>(expected)) << std::hex << bits;
  }
}

TEST(Half, FloatsAreRoundedAsTheCompilerRoundsThem) {
  const auto expect = [](uint32_t word) {
    const auto value = std::bit_cast<float>(word);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_value(half_bits(value)))) << std::hex << word;
    } else {
      EXPECT_EQ(half_bits(value), by_compiler(value)) << std::hex << word;
    }
  };
  // Each half, what lies in the middle between two, and the floats beside these, for both signs.
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const auto low = static_cast<double>(half_value(static_cast<uint16_t>(bits)));
    const double high = bits == 0x7BFF ? 65536 : static_cast<double>(half_value(static_cast<uint16_t>(bits + 1)));
    for (const double value : {low, (low + high) / 2}) {
      const auto word = std::bit_cast<uint32_t>(static_cast<float>(value));
      for (const uint32_t near : {word == 0 ? 0 : word - 1, word, word + 1}) {
        expect(near);
        expect(near | 0x80000000);
      }
    }
  }
  Random random(1);
  for (int k = 0; k < 200'000; ++k) expect(static_cast<uint32_t>(random.bits()));
}

TEST(Elements, EveryTypeHoldsWhatWasWritten) {
  for (const DType type :
       {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64, DType::u8}) {
    std::byte bytes[8] = {};
    write_element(type, bytes, 5);
    EXPECT_EQ(read_element(type, bytes), 5);
    EXPECT_EQ(is_float(type), unit_roundoff(type) > 0);
  }
}

TEST(Elements, APieceOfExpectedValuesIsKept) {
  double values[2] = {-1, -1}, bounds[2] = {-1, -1};
  RawTensor raw = {};
  raw.name = "out";
  raw.output = 1;
  raw.elements = 5;
  raw.expected = values;
  raw.bound = bounds;
  raw.first = 2;
  raw.kept = 2;
  Output out(raw);
  for (int64_t i = 0; i < 5; ++i) out.set(i, static_cast<double>(i * 10));
  EXPECT_EQ(values[0], 20);
  EXPECT_EQ(values[1], 30);
  EXPECT_THROW(out.set(5, 0), std::out_of_range);
}

TEST(Elements, RightIsWithinTheBound) {
  EXPECT_TRUE(is_right(1, 1, 0));
  EXPECT_TRUE(is_right(1.5, 1, 0.5));
  EXPECT_FALSE(is_right(1.51, 1, 0.5));
  EXPECT_TRUE(is_right(7, 0, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_right(std::nan(""), 1, 0.5));
  EXPECT_FALSE(is_right(1, 1.5, std::nan("")));
}

}  // namespace
}  // namespace fabricbench::oracle
