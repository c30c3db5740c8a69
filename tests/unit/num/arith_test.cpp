#include "virtual_node/num/arith.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/rng.h"
#include "num/exact.h"
#include "virtual_node/num/convert.h"

namespace fb::num {
namespace {

template <class T>
struct Codes;
template <>
struct Codes<float> {
  static constexpr uint64_t kLargest = 0x7f7fffff;
  static double value(uint64_t code) { return exact::value_of(kF32, code); }
};
template <>
struct Codes<double> {
  static constexpr uint64_t kLargest = 0x7fefffffffffffff;
  static double value(uint64_t code) { return exact::value_of_f64(code); }
};

template <class T, class Twice>
bool is_rounding_of(Rounding rounding, T result, Twice twice) {
  const auto bits = std::bit_cast<BitsOf<T>>(result);
  const uint64_t magnitude = bits & (~BitsOf<T>{0} >> 1);
  return exact::correctly_rounded(rounding, std::signbit(result), magnitude, Codes<T>::kLargest, false, Codes<T>::value,
                                  twice);
}

// Corner values, values close to another one's exponent (so that sums are neither exact nor trivial), and any bits.
template <class T>
class Samples {
 public:
  explicit Samples(uint64_t seed) : rng_(seed) {}

  T next() {
    using Limits = std::numeric_limits<T>;
    static constexpr T kCorners[] = {T{0},
                                     T{1},
                                     T{2},
                                     T{3},
                                     T{1} / 3,
                                     Limits::min(),
                                     Limits::max(),
                                     Limits::denorm_min(),
                                     Limits::epsilon(),
                                     T{1} + Limits::epsilon(),
                                     Limits::min() - Limits::denorm_min(),
                                     T{0.5}};
    const uint64_t kind = rng_.below(8);
    if (kind == 0) return signed_of(kCorners[rng_.below(std::size(kCorners))]);
    if (kind < 5) return signed_of(std::ldexp(mantissa(), static_cast<int>(rng_.below(60)) - 30));
    const T any = std::bit_cast<T>(static_cast<BitsOf<T>>(rng_.next()));
    return std::isfinite(any) ? any : T{1};
  }

 private:
  T mantissa() { return static_cast<T>(1) + std::ldexp(static_cast<T>(rng_.next() >> 42), -22); }
  T signed_of(T x) { return (rng_.next() & 1) != 0 ? -x : x; }

  Rng rng_;
};

template <class T, Mods M>
void expect_exact_arithmetic(int count) {
  Samples<T> samples(static_cast<uint64_t>(M.rounding) + sizeof(T));
  using exact::Number;
  for (int i = 0; i < count; ++i) {
    const T a = samples.next();
    const T b = samples.next();
    const T c = samples.next();
    ASSERT_TRUE(is_rounding_of(M.rounding, add<M>(a, b),
                               [=](double u, double v) { return Number().add(a, 2).add(b, 2).add(-u).add(-v).sign(); }))
        << std::hexfloat << a << " + " << b;
    ASSERT_TRUE(
        is_rounding_of(M.rounding, sub<M>(a, b),
                       [=](double u, double v) { return Number().add(a, 2).add(b, -2).add(-u).add(-v).sign(); }))
        << std::hexfloat << a << " - " << b;
    // 2ab and 2a might overflow a double, so they are added twice.
    ASSERT_TRUE(is_rounding_of(M.rounding, mul<M>(a, b),
                               [=](double u, double v) { return Number().add(a, b).add(a, b).add(-u).add(-v).sign(); }))
        << std::hexfloat << a << " * " << b;
    ASSERT_TRUE(is_rounding_of(
        M.rounding, fma<M>(a, b, c),
        [=](double u, double v) { return Number().add(a, b).add(a, b).add(c).add(c).add(-u).add(-v).sign(); }))
        << std::hexfloat << a << " * " << b << " + " << c;
    if (b != 0) {
      ASSERT_TRUE(is_rounding_of(
          M.rounding, div<M>(a, b),
          [=](double u, double v) { return Number().add(a, 2).add(-u, b).add(-v, b).sign() * (b < 0 ? -1 : 1); }))
          << std::hexfloat << a << " / " << b;
      ASSERT_TRUE(is_rounding_of(
          M.rounding, rcp<M>(b),
          [=](double u, double v) { return Number().add(2).add(-u, b).add(-v, b).sign() * (b < 0 ? -1 : 1); }))
          << std::hexfloat << "1 / " << b;
    }
    const T positive = std::fabs(a);
    ASSERT_TRUE(is_rounding_of(M.rounding, sqrt<M>(positive),
                               [=](double u, double v) {
                                 // 2 sqrt(a) > u + v  <=>  4 a > u² + 2uv + v², with u, v >= 0.
                                 Number n;
                                 for (int k = 0; k < 4; ++k) n.add(positive);
                                 return n.add(-u, u).add(-u, v).add(-u, v).add(-v, v).sign();
                               }))
        << std::hexfloat << "sqrt " << positive;
  }
}

TEST(Arith, F32IsExactInEveryRounding) {
  expect_exact_arithmetic<float, kRn>(30000);
  expect_exact_arithmetic<float, kRz>(30000);
  expect_exact_arithmetic<float, kRm>(30000);
  expect_exact_arithmetic<float, kRp>(30000);
}

TEST(Arith, F64IsExactInEveryRounding) {
  expect_exact_arithmetic<double, kRn>(30000);
  expect_exact_arithmetic<double, kRz>(30000);
  expect_exact_arithmetic<double, kRm>(30000);
  expect_exact_arithmetic<double, kRp>(30000);
}

TEST(Arith, F64ToF32IsExactInEveryRounding) {
  Samples<double> samples(7);
  for (int i = 0; i < 100000; ++i) {
    const double wide = samples.next();
    int exponent = 0;
    const double fraction = std::frexp(wide, &exponent);
    const double x = i % 2 == 0 ? wide : std::ldexp(fraction, i % 300 - 160);
    ASSERT_TRUE(is_rounding_of(Rounding::rn, f64_to_f32<kRn>(x), exact::twice_value(x)));
    ASSERT_TRUE(is_rounding_of(Rounding::rz, f64_to_f32<kRz>(x), exact::twice_value(x)));
    ASSERT_TRUE(is_rounding_of(Rounding::rm, f64_to_f32<kRm>(x), exact::twice_value(x)));
    ASSERT_TRUE(is_rounding_of(Rounding::rp, f64_to_f32<kRp>(x), exact::twice_value(x)));
  }
}

TEST(Arith, DirectedRoundingLeavesTheEnvironmentAsItWas) {
  ASSERT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(add<kRp>(1.0f, 1e-30f), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(add(1.0f, 1e-30f), 1.0f);
}

TEST(Arith, ExactZeroTakesItsSignFromTheRounding) {
  EXPECT_FALSE(std::signbit(add(1.0f, -1.0f)));
  EXPECT_TRUE(std::signbit(add<kRm>(1.0f, -1.0f)));
  EXPECT_TRUE(std::signbit(sub<kRm>(1.0, 1.0)));
  EXPECT_TRUE(std::signbit(fma<kRm>(2.0f, 3.0f, -6.0f)));
}

TEST(Arith, F32NansAreCanonical) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float payload = std::bit_cast<float>(0xffc12345u);
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  EXPECT_EQ(bits(add(payload, 1.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(add(kInf, -kInf)), 0x7fffffffu);
  EXPECT_EQ(bits(add<kRz>(kInf, -kInf)), 0x7fffffffu);
  EXPECT_EQ(bits(mul(0.0f, kInf)), 0x7fffffffu);
  EXPECT_EQ(bits(fma(1.0f, 1.0f, payload)), 0x7fffffffu);
  EXPECT_EQ(bits(div(0.0f, 0.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(sqrt(-1.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(add<Mods{.sat = true}>(kInf, -kInf)), 0u);
}

TEST(Arith, F64NansKeepTheFirstPayload) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double first = std::bit_cast<double>(0x7ff0000000000abcu);
  const double second = std::bit_cast<double>(0xfff8000000000defu);
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  EXPECT_EQ(bits(add(first, second)), 0x7ff8000000000abcu);
  EXPECT_EQ(bits(sub(second, first)), 0xfff8000000000defu);
  EXPECT_EQ(bits(sub(1.0, second)), 0xfff8000000000defu);
  EXPECT_EQ(bits(fma(1.0, 1.0, second)), 0xfff8000000000defu);
  EXPECT_EQ(bits(fma<kRp>(1.0, first, second)), 0x7ff8000000000abcu);
  EXPECT_EQ(bits(add(kInf, -kInf)), 0xfff8000000000000u);
  EXPECT_EQ(bits(sqrt<kRz>(-1.0)), 0xfff8000000000000u);
}

TEST(Arith, FtzFlushesInputsAndResultsAndKeepsTheSign) {
  constexpr Mods kFtz{.ftz = true};
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  constexpr float kMin = std::numeric_limits<float>::min();
  EXPECT_EQ(add<kFtz>(kTiny, kTiny), 0.0f);
  EXPECT_TRUE(std::signbit(mul<kFtz>(-kMin, 0.5f)));
  EXPECT_EQ(mul<kFtz>(-kMin, 0.5f), 0.0f);
  EXPECT_EQ(mul(-kMin, 0.5f), -kMin / 2);
  EXPECT_EQ(fma<kFtz>(kTiny, 1e30f, 1.0f), 1.0f);
  EXPECT_EQ(rcp<kFtz>(-kTiny), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(add<kFtz>(kMin, 0.0f), kMin);
}

TEST(Arith, SatClampsToTheUnitInterval) {
  constexpr Mods kSat{.sat = true};
  EXPECT_EQ(add<kSat>(0.5f, 0.25f), 0.75f);
  EXPECT_EQ(add<kSat>(1.0f, 1.0f), 1.0f);
  EXPECT_EQ(add<kSat>(-1.0f, 0.5f), 0.0f);
  EXPECT_FALSE(std::signbit(add<kSat>(-0.0f, -0.0f)));
}

}  // namespace
}  // namespace fb::num
