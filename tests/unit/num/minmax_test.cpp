#include "virtual_node/num/minmax.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace fb::num {
namespace {

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kPayload = std::bit_cast<float>(0xffc00001u);
constexpr MinMaxMods kNan{.nan = true};
constexpr MinMaxMods kFtz{.ftz = true};
constexpr MinMaxMods kXorsign{.xorsign_abs = true};
constexpr MinMaxMods kNanXorsign{.nan = true, .xorsign_abs = true};

TEST(MinMax, OrdersFloats) {
  const float ordered[] = {-kInf, -3.0f, -1e-40f, -0.0f, 0.0f, 1e-45f, 2.0f, kInf};
  for (size_t i = 0; i < std::size(ordered); ++i) {
    for (size_t j = 0; j < std::size(ordered); ++j) {
      EXPECT_EQ(bits(min(ordered[i], ordered[j])), bits(ordered[std::min(i, j)]));
      EXPECT_EQ(bits(max(ordered[i], ordered[j])), bits(ordered[std::max(i, j)]));
      const double a = static_cast<double>(ordered[i]);
      const double b = static_cast<double>(ordered[j]);
      EXPECT_EQ(bits(min(a, b)), bits(i < j ? a : b));
      EXPECT_EQ(bits(max<kNan>(a, b)), bits(i < j ? b : a));
    }
  }
}

TEST(MinMax, NanTable) {
  EXPECT_EQ(min(kPayload, 1.0f), 1.0f);
  EXPECT_EQ(min(1.0f, kPayload), 1.0f);
  EXPECT_EQ(max(kPayload, -kInf), -kInf);
  EXPECT_EQ(bits(max(kPayload, kPayload)), 0x7fffffffu);
  EXPECT_EQ(bits(min<kNan>(kPayload, 1.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(max<kNan>(1.0f, kPayload)), 0x7fffffffu);
  const double payload = std::bit_cast<double>(0x7ff8000000000001u);
  EXPECT_EQ(min(payload, 2.0), 2.0);
  EXPECT_EQ(bits(min(payload, payload)), bits(kNanF64));
  EXPECT_EQ(min_f16(0x7e00, 0x3c00), 0x3c00);
  EXPECT_EQ(min_f16<kNan>(0x7e00, 0x3c00), 0x7fff);
  EXPECT_EQ(max_bf16(0xffff, 0xffff), 0x7fff);
  EXPECT_EQ(max_bf16(0x7f80, 0x7f81), 0x7f80);
}

TEST(MinMax, HalvesOrderZerosAndSigns) {
  EXPECT_EQ(min_f16(0x0000, 0x8000), 0x8000);
  EXPECT_EQ(max_f16(0x8000, 0x0000), 0x0000);
  EXPECT_EQ(min_f16(0xfc00, 0x7c00), 0xfc00);
  EXPECT_EQ(max_f16(0x8001, 0x8002), 0x8001);
  EXPECT_EQ(min_bf16(0x3f80, 0xbf80), 0xbf80);
  EXPECT_EQ((pairwise<max_f16<MinMaxMods{}>>(0x3c00bc00u, 0xbc003c00u)), 0x3c003c00u);
}

TEST(MinMax, XorsignComparesMagnitudes) {
  EXPECT_EQ(min<kXorsign>(-3.0f, 2.0f), -2.0f);
  EXPECT_EQ(max<kXorsign>(-3.0f, -2.0f), 3.0f);
  EXPECT_EQ(min<kXorsign>(kPayload, 2.0f), -2.0f);
  EXPECT_EQ(bits(min<kNanXorsign>(kPayload, 2.0f)), 0x7fffffffu);
  EXPECT_EQ((min_f16<kXorsign>(0xc200, 0x4000)), 0xc000);
}

TEST(MinMax, FtzFlushesOperands) {
  EXPECT_EQ(bits(min<kFtz>(-1e-40f, 1.0f)), bits(-0.0f));
  EXPECT_EQ(bits(max<kFtz>(1e-40f, -1.0f)), 0u);
  EXPECT_EQ(max_f16<kFtz>(0x03ff, 0x8000), 0);
}

TEST(MinMax, AbsAndNegTouchOnlyTheSign) {
  EXPECT_EQ(bits(neg(kPayload)), 0x7fc00001u);
  EXPECT_EQ(bits(abs(kPayload)), 0x7fc00001u);
  EXPECT_EQ(bits(neg(0.0)), bits(-0.0));
  EXPECT_EQ(bits(abs<Mods{.ftz = true}>(-1e-40f)), 0u);
  EXPECT_EQ(copysign(-1.0f, 3.0f), -3.0f);
  EXPECT_EQ(abs_f16(0xfc01), 0x7c01);
  EXPECT_EQ(neg_bf16(0x0000), 0x8000);
}

TEST(MinMax, TestpClasses) {
  EXPECT_TRUE(is_nan(kPayload));
  EXPECT_TRUE(is_infinite(-kInf));
  EXPECT_FALSE(is_finite(kPayload));
  EXPECT_TRUE(is_subnormal(-1e-40f));
  EXPECT_FALSE(is_subnormal(0.0f));
  EXPECT_TRUE(is_normal(1.0));
  EXPECT_FALSE(is_normal(kInf));
}

}  // namespace
}  // namespace fb::num
