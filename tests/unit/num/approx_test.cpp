#include "virtual_node/num/approx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/base/rng.h"

namespace fb::num {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Mods kFtz{.ftz = true};

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

// Distance in units of the last place that a float of the exact result's size has.
double ulps(float result, long double expected) {
  const int exponent = std::max(std::ilogb(expected), -126);
  return static_cast<double>(std::fabs(static_cast<long double>(result) - expected) / std::ldexp(1.0L, exponent - 23));
}

// Largest error over 200,000 arguments: any bits of the given exponents, either sign.
template <class Approx, class Reference>
double worst_ulps(Approx approx, Reference reference, float low, float high) {
  Rng rng(1);
  double worst = 0;
  const auto check = [&](float x) {
    const long double expected = reference(static_cast<long double>(x));
    if (!std::isfinite(expected) || std::fabs(expected) > std::numeric_limits<float>::max()) return;
    if (expected != 0) worst = std::max(worst, ulps(approx(x), expected));
  };
  for (int i = 0; i < 100000; ++i) {
    const float uniform = low + (high - low) * static_cast<float>(rng.next() >> 40) * 0x1p-24f;
    const float any = std::bit_cast<float>(static_cast<uint32_t>(rng.next()));
    check(uniform);
    if (any >= low && any <= high) check(any);
  }
  return worst;
}

TEST(Approx, StaysWithinTheStatedBounds) {
  const auto report = [](const char* name, double worst) {
    ::testing::Test::RecordProperty(name, std::to_string(worst));
    EXPECT_LE(worst, 0.51) << name;
    EXPECT_GT(worst, 0.45) << name << ": too good to have been measured";
    std::printf("    %-6s %.6f ulp\n", name, worst);
  };
  report("ex2", worst_ulps([](float x) { return ex2_approx(x); }, [](long double x) { return exp2l(x); }, -155, 128));
  report("lg2", worst_ulps([](float x) { return lg2_approx(x); }, [](long double x) { return log2l(x); }, 0, 3e38f));
  report("lg2_1", worst_ulps([](float x) { return lg2_approx(x); }, [](long double x) { return log2l(x); }, 0.5f, 2));
  report("rcp", worst_ulps([](float x) { return rcp_approx(x); }, [](long double x) { return 1 / x; }, -3e38f, 3e38f));
  report("rsqrt",
         worst_ulps([](float x) { return rsqrt_approx(x); }, [](long double x) { return 1 / sqrtl(x); }, 0, 3e38f));
  report("sqrt", worst_ulps([](float x) { return sqrt_approx(x); }, [](long double x) { return sqrtl(x); }, 0, 3e38f));
  report("sin", worst_ulps([](float x) { return sin_approx(x); }, [](long double x) { return sinl(x); }, -1e4f, 1e4f));
  report("cos", worst_ulps([](float x) { return cos_approx(x); }, [](long double x) { return cosl(x); }, -1e4f, 1e4f));
  report("tanh", worst_ulps([](float x) { return tanh_approx(x); }, [](long double x) { return tanhl(x); }, -9, 9));
}

TEST(Approx, Ex2IsExactForIntegersAndCoversSubnormals) {
  for (int n = -149; n < 128; ++n) EXPECT_EQ(ex2_approx(static_cast<float>(n)), std::ldexp(1.0f, n)) << n;
  EXPECT_EQ(ex2_approx<kFtz>(-130.0f), 0.0f);
  EXPECT_EQ(ex2_approx(-151.0f), 0.0f);
}

TEST(Approx, Ex2SpecialValues) {
  EXPECT_EQ(bits(ex2_approx(-kInf)), 0u);
  EXPECT_EQ(ex2_approx(kInf), kInf);
  EXPECT_EQ(ex2_approx(128.0f), kInf);
  EXPECT_EQ(ex2_approx(-0.0f), 1.0f);
  EXPECT_EQ(ex2_approx(-1e-40f), 1.0f);
  EXPECT_EQ(bits(ex2_approx(-std::nanf(""))), 0x7fffffffu);
  EXPECT_EQ(ex2_approx(-1e38f), 0.0f);
}

TEST(Approx, Lg2SpecialValues) {
  EXPECT_EQ(lg2_approx(0.0f), -kInf);
  EXPECT_EQ(lg2_approx(-0.0f), -kInf);
  EXPECT_EQ(bits(lg2_approx(-1.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(lg2_approx(-kInf)), 0x7fffffffu);
  EXPECT_EQ(bits(lg2_approx(-1e-40f)), 0x7fffffffu);
  EXPECT_EQ(lg2_approx<kFtz>(-1e-40f), -kInf);
  EXPECT_EQ(lg2_approx<kFtz>(1e-40f), -kInf);
  EXPECT_EQ(lg2_approx(0x1p-149f), -149.0f);
  EXPECT_EQ(lg2_approx(kInf), kInf);
  EXPECT_EQ(lg2_approx(1.0f), 0.0f);
  for (int n = -149; n < 128; ++n) EXPECT_EQ(lg2_approx(std::ldexp(1.0f, n)), static_cast<float>(n));
}

TEST(Approx, RootsAndReciprocalsSpecialValues) {
  EXPECT_EQ(rcp_approx(-0.0f), -kInf);
  EXPECT_TRUE(std::signbit(rcp_approx(-kInf)));
  EXPECT_EQ(rcp_approx<kFtz>(1e-40f), kInf);
  EXPECT_EQ(rcp_approx<kFtz>(0x1.8p126f), 0.0f);
  EXPECT_EQ(rsqrt_approx(0.0f), kInf);
  EXPECT_EQ(rsqrt_approx(-0.0f), -kInf);
  EXPECT_EQ(bits(rsqrt_approx(kInf)), 0u);
  EXPECT_EQ(bits(rsqrt_approx(-1.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(rsqrt_approx(-1e-40f)), 0x7fffffffu);
  EXPECT_EQ(rsqrt_approx<kFtz>(-1e-40f), -kInf);
  EXPECT_TRUE(std::signbit(sqrt_approx(-0.0f)));
  EXPECT_EQ(bits(sqrt_approx(-1.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(sqrt_approx<kFtz>(-1e-40f)), 0x80000000u);
  EXPECT_EQ(sqrt_approx(kInf), kInf);
}

TEST(Approx, TrigonometrySpecialValues) {
  EXPECT_EQ(bits(sin_approx(-0.0f)), 0x80000000u);
  EXPECT_EQ(bits(sin_approx<kFtz>(-1e-40f)), 0x80000000u);
  EXPECT_EQ(bits(sin_approx(kInf)), 0x7fffffffu);
  EXPECT_EQ(cos_approx(-0.0f), 1.0f);
  EXPECT_EQ(bits(cos_approx(-kInf)), 0x7fffffffu);
  EXPECT_EQ(tanh_approx(-kInf), -1.0f);
  EXPECT_EQ(bits(tanh_approx(-0.0f)), 0x80000000u);
  EXPECT_EQ(tanh_approx(1e-40f), 1e-40f);
}

TEST(Approx, DivisionByHugeValues) {
  EXPECT_EQ(div_approx(6.0f, 3.0f), 2.0f);
  EXPECT_EQ(div_approx(1e38f, 0x1.8p126f), 0.0f);
  EXPECT_NE(div_full(1e38f, 0x1.8p126f), 0.0f);
  EXPECT_EQ(bits(div_approx(kInf, -0x1.8p127f)), 0x7fffffffu);
  EXPECT_EQ(div_approx(1.0f, 0x1p126f), 0x1p-126f);
}

TEST(Approx, GrossDoubleApproximationsUseTheUpperWord) {
  Rng rng(2);
  for (int i = 0; i < 100000; ++i) {
    const double x =
        std::ldexp(1.0 + static_cast<double>(rng.next() >> 12) * 0x1p-52, static_cast<int>(rng.below(2000)) - 1000);
    ASSERT_LE(std::fabs(rcp_approx(x) * x - 1), 0x1p-19);
    ASSERT_LE(std::fabs(rsqrt_approx(x) * std::sqrt(x) - 1), 0x1p-19);
    ASSERT_EQ(std::bit_cast<uint64_t>(rcp_approx(x)) & 0xffffffffu, 0u);
  }
  EXPECT_EQ(rcp_approx(0.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(rcp_approx(-1e-310), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(rsqrt_approx(-0.0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(rsqrt_approx(-1.0)));
  EXPECT_TRUE(std::isnan(rcp_approx(std::bit_cast<double>(0x7ff0000000000001u))));
}

}  // namespace
}  // namespace fb::num
