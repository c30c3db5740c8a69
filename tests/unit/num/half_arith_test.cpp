#include "virtual_node/num/half_arith.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/base/rng.h"
#include "num/exact.h"

namespace fb::num {
namespace {

template <FloatFormat F, class Twice>
bool is_rounding_of(uint16_t result, Twice twice) {
  const auto value = [](uint64_t code) { return exact::value_of(F, code); };
  return exact::correctly_rounded(Rounding::rn, (result & 0x8000) != 0, result & 0x7fff, F.max_finite, false, value,
                                  twice);
}

template <FloatFormat F>
struct Operations;
template <>
struct Operations<kF16> {
  static double value(uint16_t x) { return f16_to_f64(x); }
  static uint16_t add(uint16_t a, uint16_t b) { return add_f16(a, b); }
  static uint16_t sub(uint16_t a, uint16_t b) { return sub_f16(a, b); }
  static uint16_t mul(uint16_t a, uint16_t b) { return mul_f16(a, b); }
  static uint16_t fma(uint16_t a, uint16_t b, uint16_t c) { return fma_f16(a, b, c); }
};
template <>
struct Operations<kBf16> {
  static double value(uint16_t x) { return bf16_to_f64(x); }
  static uint16_t add(uint16_t a, uint16_t b) { return add_bf16(a, b); }
  static uint16_t sub(uint16_t a, uint16_t b) { return sub_bf16(a, b); }
  static uint16_t mul(uint16_t a, uint16_t b) { return mul_bf16(a, b); }
  static uint16_t fma(uint16_t a, uint16_t b, uint16_t c) { return fma_bf16(a, b, c); }
};

template <FloatFormat F>
void expect_correct(uint16_t a, uint16_t b, uint16_t c) {
  using Ops = Operations<F>;
  using exact::Number;
  const double x = Ops::value(a);
  const double y = Ops::value(b);
  const double z = Ops::value(c);
  ASSERT_TRUE(is_rounding_of<F>(
      Ops::add(a, b), [=](double u, double v) { return Number().add(x, 2).add(y, 2).add(-u).add(-v).sign(); }))
      << x << " + " << y;
  ASSERT_TRUE(is_rounding_of<F>(
      Ops::sub(a, b), [=](double u, double v) { return Number().add(x, 2).add(y, -2).add(-u).add(-v).sign(); }))
      << x << " - " << y;
  ASSERT_TRUE(is_rounding_of<F>(Ops::mul(a, b),
                                [=](double u, double v) { return Number().add(x, 2 * y).add(-u).add(-v).sign(); }))
      << x << " * " << y;
  ASSERT_TRUE(is_rounding_of<F>(
      Ops::fma(a, b, c), [=](double u, double v) { return Number().add(x, 2 * y).add(z, 2).add(-u).add(-v).sign(); }))
      << std::hexfloat << x << " * " << y << " + " << z << " gave " << Ops::value(Ops::fma(a, b, c));
}

template <FloatFormat F>
void expect_correct_on_random_operands(int count) {
  Rng rng(F.mantissa_bits);
  const auto finite = [&] {
    const auto code = static_cast<uint16_t>(rng.next());
    return (code & 0x7fff) > F.max_finite ? static_cast<uint16_t>(code & 0x83ff) : code;
  };
  for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i)
    expect_correct<F>(finite(), finite(), finite());
}

TEST(HalfArith, F16IsCorrectlyRoundedOnRandomOperands) { expect_correct_on_random_operands<kF16>(300000); }
TEST(HalfArith, Bf16IsCorrectlyRoundedOnRandomOperands) { expect_correct_on_random_operands<kBf16>(300000); }

// Products that lie exactly between two values, with an addend of every magnitude to break the tie either way.
template <FloatFormat F>
void expect_ties_broken_by_any_addend() {
  const uint32_t one = F.one();
  const uint32_t mantissas = 1u << F.mantissa_bits;
  Rng rng(3);
  int ties = 0;
  for (int i = 0; i < 400000 && ties < 400; ++i) {
    const auto a = static_cast<uint16_t>(one | rng.below(mantissas));
    const auto b = static_cast<uint16_t>(one | rng.below(mantissas));
    const double product = Operations<F>::value(a) * Operations<F>::value(b);
    const double scaled = std::ldexp(product, F.mantissa_bits + (product < 2 ? 1 : 0));
    if (scaled != std::floor(scaled) || std::fmod(scaled, 2.0) != 1.0) continue;
    ++ties;
    for (uint32_t exponent = 0; exponent <= F.max_finite >> F.mantissa_bits; ++exponent) {
      const auto c = static_cast<uint16_t>(exponent << F.mantissa_bits | rng.below(mantissas));
      expect_correct<F>(a, b, c);
      expect_correct<F>(a, b, static_cast<uint16_t>(c | 0x8000));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ties, 50);
}

TEST(HalfArith, F16FmaBreaksTiesWithAnyAddend) { expect_ties_broken_by_any_addend<kF16>(); }
TEST(HalfArith, Bf16FmaBreaksTiesWithAnyAddend) { expect_ties_broken_by_any_addend<kBf16>(); }

TEST(HalfArith, SmallProductsRoundOnce) {
  Rng rng(11);
  for (int i = 0; i < 100000; ++i) {
    // bf16 products around 2^-133, f16 products around 2^-24, with small addends.
    const auto small = [&](uint32_t limit) { return static_cast<uint16_t>(rng.below(limit) | (rng.next() & 0x8000)); };
    expect_correct<kBf16>(small(0x2000), static_cast<uint16_t>(0x1c00 + rng.below(0x400)), small(0x10));
    expect_correct<kF16>(small(0x2000), small(0x2000), small(0x10));
    if (HasFatalFailure()) return;
  }
}

TEST(HalfArith, SpecialOperandsGiveCanonicalResults) {
  EXPECT_EQ(add_f16(0x7c00, 0xfc00), 0x7fff);
  EXPECT_EQ(mul_f16(0x7c00, 0x0000), 0x7fff);
  EXPECT_EQ(fma_f16(0xfe01, 0x3c00, 0x3c00), 0x7fff);
  EXPECT_EQ(add_f16(0x7bff, 0x7bff), 0x7c00);
  EXPECT_EQ(fma_bf16(0x7f80, 0x3f80, 0xff80), 0x7fff);
  EXPECT_EQ(fma_bf16(0x7f80, 0x3f80, 0x3f80), 0x7f80);
  EXPECT_EQ(fma_bf16(0x7f7f, 0x7f7f, 0xff80), 0xff80);
  EXPECT_EQ(add_bf16(0x8000, 0x8000), 0x8000);
}

TEST(HalfArith, ModifiersFollowPtx) {
  constexpr Mods kSat{.sat = true};
  constexpr Mods kFtz{.ftz = true};
  constexpr Mods kRelu{.relu = true};
  EXPECT_EQ(add_f16<kSat>(0x3c00, 0x3c00), 0x3c00);
  EXPECT_EQ(mul_f16<kSat>(0x7c00, 0x0000), 0);
  EXPECT_EQ(add_f16<kFtz>(0x0001, 0x0001), 0);
  EXPECT_EQ(add_f16<kFtz>(0x83ff, 0x8001), 0x8000);
  EXPECT_EQ(mul_f16<kFtz>(0x8400, 0x3800), 0x8000);
  EXPECT_EQ(fma_f16<kRelu>(0x3c00, 0xbc00, 0x0000), 0);
  EXPECT_EQ(fma_f16<kRelu>(0x3c00, 0x3c00, 0x3c00), 0x4000);
  EXPECT_EQ(fma_bf16<kRelu>(0x7f80, 0x0000, 0x0000), 0x7fff);
  EXPECT_EQ(pairwise<add_f16<kRn>>(0x3c004000u, 0x3c004000u), 0x40004400u);
  EXPECT_EQ(pairwise<neg_f16>(0x3c00c000u), 0xbc004000u);
  EXPECT_EQ(pairwise<fma_bf16<kRn>>(0x3f804000u, 0x3f804000u, 0x3f800000u), 0x40004080u);
}

// Half an ulp, and a little for the double that was rounded; only where F has its full precision.
template <FloatFormat F>
void expect_close(uint16_t result, double expected) {
  const double smallest = std::ldexp(1.0, 1 - F.bias);
  const double largest = exact::value_of(F, F.max_finite);
  if (std::fabs(expected) < smallest || std::fabs(expected) > largest) return;
  const double value = static_cast<double>(widen<F>(result));
  ASSERT_LE(std::fabs(value - expected), std::fabs(expected) * std::ldexp(1.001, -F.mantissa_bits - 1)) << expected;
}

TEST(HalfArith, ApproximationsStayWithinHalfAnUlp) {
  for (uint32_t code = 0; code < 0x10000 && !HasFatalFailure(); ++code) {
    const auto x = static_cast<uint16_t>(code);
    if ((code & 0x7fff) < 0x7c00) {
      expect_close<kF16>(ex2_f16(x), std::exp2(f16_to_f64(x)));
      expect_close<kF16>(tanh_f16(x), std::tanh(f16_to_f64(x)));
    }
    if ((code & 0x7fff) < 0x7f80) {
      expect_close<kBf16>(ex2_bf16(x), std::exp2(bf16_to_f64(x)));
      expect_close<kBf16>(tanh_bf16(x), std::tanh(bf16_to_f64(x)));
    }
  }
  EXPECT_EQ(ex2_f16(0xfe00), 0x7fff);
  EXPECT_EQ(ex2_f16(0xfc00), 0);
  EXPECT_EQ(ex2_bf16(0x7f80), 0x7f80);
  EXPECT_EQ(tanh_f16(0x7c00), 0x3c00);
  EXPECT_EQ(tanh_bf16(0x8000), 0x8000);
}

}  // namespace
}  // namespace fb::num
