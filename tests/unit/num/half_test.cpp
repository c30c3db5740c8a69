#include "virtual_node/num/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "num/exact.h"
#include "virtual_node/num/small_float.h"

namespace fb::num {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();

TEST(Half, EveryF16ValueSurvivesTheWayThroughF32AndF64) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const uint16_t expected = (half & 0x7fff) > 0x7c00 ? 0x7fff : half;
    ASSERT_EQ(f32_to_f16(f16_to_f32(half)), expected) << code;
    ASSERT_EQ(f32_to_f16<kRz>(f16_to_f32(half)), expected) << code;
    ASSERT_EQ(f32_to_f16<kRm>(f16_to_f32(half)), expected) << code;
    ASSERT_EQ(f32_to_f16<kRp>(f16_to_f32(half)), expected) << code;
    ASSERT_EQ(f64_to_f16(f16_to_f64(half)), expected) << code;
    if ((half & 0x7fff) < 0x7c00) {
      const double value = exact::value_of(kF16, code & 0x7fff);
      ASSERT_EQ(f16_to_f32(half), (code & 0x8000) != 0 ? -value : value) << code;
    }
  }
}

TEST(Half, EveryBf16ValueSurvivesTheWayThroughF32AndF64) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const uint16_t expected = (half & 0x7fff) > 0x7f80 ? 0x7fff : half;
    ASSERT_EQ(f32_to_bf16(bf16_to_f32(half)), expected) << code;
    ASSERT_EQ(f32_to_bf16<kRz>(bf16_to_f32(half)), expected) << code;
    ASSERT_EQ(f64_to_bf16(bf16_to_f64(half)), expected) << code;
  }
}

template <FloatFormat F>
void expect_round_trip() {
  for (uint32_t code = 0; code < 2u << F.sign_position(); ++code) {
    const uint32_t magnitude = code & ((1u << F.sign_position()) - 1);
    const bool nan = magnitude > (F.has_infinity ? F.overflow : F.max_finite);
    ASSERT_EQ((narrow<F, kSatfinite>(widen<F>(code))), nan ? F.nan : (magnitude > F.max_finite ? code - 1 : code))
        << code;
    ASSERT_EQ((narrow<F, kRn>(widen<F>(code))), nan ? F.nan : code) << code;
    if (magnitude > F.max_finite) continue;
    const double value = exact::value_of(F, magnitude);
    ASSERT_EQ(widen<F>(code), magnitude == code ? value : -value) << code;
  }
}

TEST(SmallFloat, EveryValueSurvivesTheWayThroughF32) {
  expect_round_trip<kE5m2>();
  expect_round_trip<kE4m3>();
  expect_round_trip<kE3m2>();
  expect_round_trip<kE2m3>();
  expect_round_trip<kE2m1>();
}

TEST(SmallFloat, F16HoldsEveryValue) {
  for (uint32_t code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    EXPECT_EQ(f16_to_e4m3(e4m3_to_f16(byte)), (code & 0x7f) == 0x7f ? 0x7f : code);
    const uint32_t magnitude = code & 0x7f;
    EXPECT_EQ(f16_to_e5m2<kRn>(e5m2_to_f16(byte)), magnitude > 0x7c ? 0x7f : code);
  }
}

// The points where a conversion can go wrong: every representable value, every halfway point, and their neighbours.
template <FloatFormat F, Mods M, class Source>
void expect_correct_around(Source point) {
  constexpr bool kClamped = M.satfinite || !F.has_infinity;
  const Source near[] = {std::nextafter(point, Source{0}), point,
                         std::nextafter(point, std::numeric_limits<Source>::infinity())};
  for (const Source magnitude : near) {
    for (const Source x : {magnitude, -magnitude}) {
      const uint32_t code = narrow<F, M>(x);
      const uint32_t sign = code >> F.sign_position();
      ASSERT_EQ(sign, std::signbit(x) ? 1u : 0u);
      const uint32_t n = code & ((1u << F.sign_position()) - 1);
      const auto value = [](uint64_t c) { return exact::value_of(F, c); };
      ASSERT_TRUE(exact::correctly_rounded(M.rounding, std::signbit(x), n, F.max_finite, kClamped, value,
                                           exact::twice_value(static_cast<double>(x))))
          << std::hexfloat << x << " gave " << code << " in mode " << static_cast<int>(M.rounding);
    }
  }
}

template <FloatFormat F, Mods M, class Source>
void expect_correct_everywhere() {
  for (uint32_t code = 0; code <= F.max_finite; ++code) {
    const double low = exact::value_of(F, code);
    const double high = exact::value_of(F, code + 1);
    expect_correct_around<F, M>(static_cast<Source>((low + high) / 2));
    expect_correct_around<F, M>(static_cast<Source>(low));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <FloatFormat F, class Source>
void expect_correct_in_all_modes() {
  expect_correct_everywhere<F, kRn, Source>();
  expect_correct_everywhere<F, kRz, Source>();
  expect_correct_everywhere<F, kRm, Source>();
  expect_correct_everywhere<F, kRp, Source>();
}

TEST(Half, F32ToF16IsCorrectAtEveryHalfwayPoint) { expect_correct_in_all_modes<kF16, float>(); }
TEST(Half, F32ToBf16IsCorrectAtEveryHalfwayPoint) { expect_correct_in_all_modes<kBf16, float>(); }
TEST(Half, F64ToF16IsCorrectAtEveryHalfwayPoint) { expect_correct_in_all_modes<kF16, double>(); }
TEST(Half, F64ToBf16IsCorrectAtEveryHalfwayPoint) { expect_correct_in_all_modes<kBf16, double>(); }

template <FloatFormat F>
void expect_small_correct() {
  expect_correct_in_all_modes<F, float>();
  expect_correct_everywhere<F, kSatfinite, float>();
  expect_correct_everywhere<F, Mods{.rounding = Rounding::rz, .satfinite = true}, float>();
  expect_correct_everywhere<F, Mods{.rounding = Rounding::rp, .satfinite = true}, float>();
}

TEST(SmallFloat, F32ToFp8IsCorrectAtEveryHalfwayPoint) {
  expect_small_correct<kE5m2>();
  expect_correct_everywhere<kE4m3, kSatfinite, float>();
  expect_correct_everywhere<kE4m3, Mods{.rounding = Rounding::rz, .satfinite = true}, float>();
  expect_correct_everywhere<kE4m3, Mods{.rounding = Rounding::rm, .satfinite = true}, float>();
  expect_correct_everywhere<kE4m3, Mods{.rounding = Rounding::rp, .satfinite = true}, float>();
}

TEST(SmallFloat, F32ToFp6AndFp4IsCorrectAtEveryHalfwayPoint) {
  expect_small_correct<kE3m2>();
  expect_small_correct<kE2m3>();
  expect_small_correct<kE2m1>();
}

TEST(SmallFloat, F32ToTf32IsCorrectAtHalfwayPoints) {
  for (uint32_t code = 0; code <= kTf32.max_finite; code += code < 0x1000 || code > 0x3f000 ? 1 : 37) {
    const double middle = (exact::value_of(kTf32, code) + exact::value_of(kTf32, code + 1)) / 2;
    expect_correct_around<kTf32, Mods{Rounding::rna}>(static_cast<float>(middle));
    expect_correct_around<kTf32, kRn>(static_cast<float>(middle));
    expect_correct_around<kTf32, kRz>(static_cast<float>(middle));
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(f32_to_tf32(1.0f), 0x3f800000u);
  EXPECT_EQ(f32_to_tf32(kQuietNan), 0x7fffffffu);
  EXPECT_EQ(f32_to_tf32(-kInf), 0xff800000u);
  EXPECT_EQ((f32_to_tf32<Mods{.rounding = Rounding::rna, .satfinite = true}>(-kInf)), 0xff7fe000u);
  EXPECT_EQ(tf32_to_f32(0x3f801fffu), 1.0f);
}

TEST(Half, SpecialValuesFollowPtx) {
  EXPECT_EQ(f32_to_f16(kQuietNan), 0x7fff);
  EXPECT_EQ(f32_to_f16(-kQuietNan), 0x7fff);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xff800001u)), 0x7fff);
  EXPECT_EQ(std::bit_cast<uint32_t>(f16_to_f32(0xfc01)), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<uint32_t>(bf16_to_f32(0xffa5)), 0xffa50000u);
  EXPECT_EQ(f32_to_f16(kInf), 0x7c00);
  EXPECT_EQ(f32_to_f16<kRz>(kInf), 0x7c00);
  EXPECT_EQ(f32_to_f16<kRz>(1e6f), 0x7bff);
  EXPECT_EQ(f32_to_f16<kRp>(-1e6f), 0xfbff);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
}

TEST(Half, F64RoundsOnce) {
  EXPECT_EQ(f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);  // through f32 this is a tie, and even is 0x3c00
  EXPECT_EQ(f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(f64_to_f16<kRp>(0x1p-500), 1);
  EXPECT_EQ(f64_to_bf16<kRm>(-0x1p-500), 0x8001);
}

TEST(Half, ModifiersFollowPtx) {
  constexpr Mods kSat{.sat = true};
  constexpr Mods kRelu{.relu = true};
  EXPECT_EQ(f32_to_f16<kSat>(2.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16<kSat>(-kInf), 0);
  EXPECT_EQ(f32_to_f16<kSat>(-0.0f), 0);
  EXPECT_EQ(f32_to_f16<kSat>(kQuietNan), 0);
  EXPECT_EQ(f32_to_f16<kSat>(0.25f), 0x3400);
  EXPECT_EQ(f32_to_bf16<kSat>(kInf), 0x3f80);
  EXPECT_EQ(f32_to_f16<kRelu>(-1.0f), 0);
  EXPECT_EQ(f32_to_f16<kRelu>(-0.0f), 0);
  EXPECT_EQ(f32_to_f16<kRelu>(-kQuietNan), 0x7fff);
  EXPECT_EQ(f32_to_f16<kRelu>(kInf), 0x7c00);
  EXPECT_EQ(f32_to_f16<kSatfinite>(-kInf), 0xfbff);
  EXPECT_EQ(f32_to_bf16<kSatfinite>(3.4e38f), 0x7f7f);
  EXPECT_EQ(f32_to_bf16<kSatfinite>(kQuietNan), 0x7fff);
  constexpr Mods kFtzUp{.rounding = Rounding::rp, .ftz = true};
  EXPECT_EQ(f32_to_f16<kRp>(1e-40f), 1);
  EXPECT_EQ(f32_to_f16<kFtzUp>(1e-40f), 0);
}

TEST(SmallFloat, SpecialValuesFollowPtx) {
  EXPECT_EQ(f32_to_e4m3(kQuietNan), 0x7f);
  EXPECT_EQ(f32_to_e5m2(-kQuietNan), 0x7f);
  EXPECT_EQ((narrow<kE2m1, kSatfinite>(kQuietNan)), 0x7);
  EXPECT_EQ((narrow<kE2m3, kSatfinite>(kQuietNan)), 0x1f);
  EXPECT_EQ((narrow<kE3m2, kSatfinite>(-kQuietNan)), 0x1f);
  EXPECT_EQ(f32_to_e4m3(-kInf), 0xfe);
  EXPECT_EQ(f32_to_e5m2(kInf), 0x7b);
  EXPECT_EQ(f32_to_e5m2<kRn>(kInf), 0x7c);
  EXPECT_EQ(f32_to_e4m3<kRn>(kInf), 0x7f);
  EXPECT_EQ(f32_to_e4m3(448.0f), 0x7e);
  EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
  EXPECT_EQ(e4m3_to_f32(0x7e), 448.0f);
  EXPECT_EQ((narrow<kE2m1, kSatfinite>(-1e9f)), 0xf);
  EXPECT_EQ(e2m1_to_f32(0x7), 6.0f);
  EXPECT_EQ(f32_to_e4m3<kSatfiniteRelu>(-3.0f), 0);
  EXPECT_EQ(f32_to_e4m3<kSatfiniteRelu>(kQuietNan), 0x7f);
}

TEST(SmallFloat, Ue8m0IsAPowerOfTwo) {
  constexpr Mods kUp{.rounding = Rounding::rp, .satfinite = true};
  for (uint32_t code = 0; code < 255; ++code) {
    const float value = ue8m0_to_f32(static_cast<uint8_t>(code));
    ASSERT_EQ(static_cast<double>(value), std::ldexp(1.0, static_cast<int>(code) - 127));
    ASSERT_EQ(f32_to_ue8m0(value), code);
    ASSERT_EQ(f32_to_ue8m0<kUp>(value), code);
    ASSERT_EQ(f32_to_ue8m0(-value), code);
    const float above = std::nextafter(value, kInf);
    ASSERT_EQ(f32_to_ue8m0(above), code);
    ASSERT_EQ(f32_to_ue8m0<kUp>(above), code < 254 ? code + 1 : 254);
    ASSERT_EQ(bf16_to_ue8m0(ue8m0_to_bf16(static_cast<uint8_t>(code))), code);
  }
  EXPECT_EQ(f32_to_ue8m0(0.0f), 0);
  EXPECT_EQ(f32_to_ue8m0<kUp>(0.0f), 0);
  EXPECT_EQ(f32_to_ue8m0<kUp>(1e-45f), 0);
  EXPECT_EQ(f32_to_ue8m0(kInf), 0xfe);
  EXPECT_EQ(f32_to_ue8m0<kRz>(kInf), 0xff);
  EXPECT_EQ(f32_to_ue8m0(kQuietNan), 0xff);
  EXPECT_EQ(std::bit_cast<uint32_t>(ue8m0_to_f32(0xff)), 0x7fffffffu);
}

TEST(Half, PairsPutTheFirstOperandOnTop) {
  EXPECT_EQ(pack_halves(0x1234, 0x5678), 0x12345678u);
  EXPECT_EQ(upper_half(0x12345678u), 0x1234);
  EXPECT_EQ(lower_half(0x12345678u), 0x5678);
}

}  // namespace
}  // namespace fb::num
