#include "virtual_node/num/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/base/rng.h"
#include "num/exact.h"

namespace fb::num {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The definition, over __int128 so that no width overflows.
template <class Int, Rounding R, class T>
Int slow_to_int(T x) {
  if (std::isnan(x))
    return sizeof(T) == 4 && sizeof(Int) < 8 ? Int{0} : static_cast<Int>(1ull << (sizeof(Int) * 8 - 1));
  if (x > static_cast<T>(0x1p100)) return std::numeric_limits<Int>::max();
  if (x < static_cast<T>(-0x1p100)) return std::numeric_limits<Int>::min();
  const auto whole = static_cast<__int128>(x);
  const double fraction = static_cast<double>(x) - static_cast<double>(whole);
  __int128 r = whole;
  if (R == Rounding::rm && fraction < 0) --r;
  if (R == Rounding::rp && fraction > 0) ++r;
  if (R == Rounding::rn) {
    const double distance = std::fabs(fraction);
    if (distance > 0.5 || (distance == 0.5 && whole % 2 != 0)) r += fraction > 0 ? 1 : -1;
  }
  if (r > std::numeric_limits<Int>::max()) return std::numeric_limits<Int>::max();
  if (r < std::numeric_limits<Int>::min()) return std::numeric_limits<Int>::min();
  return static_cast<Int>(r);
}

template <class Int, class T>
void expect_same_as_slow(T x) {
  ASSERT_EQ((float_to_int<Int, kRn>(x)), (slow_to_int<Int, Rounding::rn>(x))) << x;
  ASSERT_EQ((float_to_int<Int, kRz>(x)), (slow_to_int<Int, Rounding::rz>(x))) << x;
  ASSERT_EQ((float_to_int<Int, kRm>(x)), (slow_to_int<Int, Rounding::rm>(x))) << x;
  ASSERT_EQ((float_to_int<Int, kRp>(x)), (slow_to_int<Int, Rounding::rp>(x))) << x;
}

template <class T>
void expect_all_widths(T x) {
  expect_same_as_slow<int8_t>(x);
  expect_same_as_slow<uint8_t>(x);
  expect_same_as_slow<int16_t>(x);
  expect_same_as_slow<uint16_t>(x);
  expect_same_as_slow<int32_t>(x);
  expect_same_as_slow<uint32_t>(x);
  expect_same_as_slow<int64_t>(x);
  expect_same_as_slow<uint64_t>(x);
}

template <class T>
void expect_float_to_int() {
  Rng rng(sizeof(T));
  for (int i = 0; i < 20000; ++i) {
    const T mantissa = static_cast<T>(rng.next() >> 40) - static_cast<T>(1 << 23);
    const T halves = static_cast<T>(static_cast<int64_t>(rng.below(2000)) - 1000) / 2;
    expect_all_widths(std::ldexp(mantissa, static_cast<int>(rng.below(70)) - 26));
    expect_all_widths(halves);
    if (::testing::Test::HasFatalFailure()) return;
  }
  using Limits = std::numeric_limits<T>;
  for (int power : {7, 8, 15, 16, 31, 32, 63, 64}) {
    for (const T x : {std::ldexp(T{1}, power), -std::ldexp(T{1}, power)}) {
      for (const T y : {x, std::nextafter(x, T{0}), x + x, std::nextafter(x, x + x), x - T{0.5}, x + T{0.5}}) {
        expect_all_widths(y);
      }
    }
  }
  for (const T x : {T{0}, -T{0}, T{0.5}, T{-0.5}, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                    Limits::max(), Limits::lowest(), Limits::denorm_min()}) {
    expect_all_widths(x);
  }
}

TEST(Convert, F32ToIntRoundsAndClamps) { expect_float_to_int<float>(); }
TEST(Convert, F64ToIntRoundsAndClamps) { expect_float_to_int<double>(); }

TEST(Convert, NanToIntFollowsPtx) {
  EXPECT_EQ(float_to_int<int32_t>(kNan), 0);
  EXPECT_EQ(float_to_int<uint16_t>(kNan), 0);
  EXPECT_EQ(float_to_int<int64_t>(kNan), INT64_MIN);
  EXPECT_EQ(float_to_int<uint64_t>(kNan), 0x8000000000000000u);
  EXPECT_EQ(float_to_int<int32_t>(static_cast<double>(kNan)), INT32_MIN);
  EXPECT_EQ(float_to_int<uint32_t>(static_cast<double>(kNan)), 0x80000000u);
  EXPECT_EQ(float_to_int<int32_t>(f16_to_f32(0x7e00)), 0);
  EXPECT_EQ(float_to_int<int64_t>(f16_to_f32(0x7e00)), INT64_MIN);
}

template <Mods M, class Int>
void expect_int_to_float(Int v) {
  const bool negative = v < 0;
  const auto exact_sign = [v](double u, double w) {
    const auto magnitude = v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    const double s = v < 0 ? -2 : 2;
    const auto high = static_cast<double>(magnitude >> 32);
    const auto low = static_cast<double>(magnitude & 0xffffffffu);
    return exact::Number().add(high * 0x1p32, s).add(low, s).add(-u).add(-w).sign();
  };
  const auto value_of = [](const FloatFormat& f) { return [&f](uint64_t c) { return exact::value_of(f, c); }; };
  const auto f32 = std::bit_cast<uint32_t>(int_to_float<float, M>(v));
  const auto f64 = std::bit_cast<uint64_t>(int_to_float<double, M>(v));
  const uint16_t f16 = int_to_f16<M>(v);
  const uint16_t bf16 = int_to_bf16<M>(v);
  using exact::correctly_rounded;
  ASSERT_TRUE(
      correctly_rounded(M.rounding, negative, f32 & 0x7fffffff, kF32.max_finite, false, value_of(kF32), exact_sign))
      << +v;
  ASSERT_TRUE(correctly_rounded(M.rounding, negative, f64 & ~uint64_t{0} >> 1, 0x7fefffffffffffffu, false,
                                exact::value_of_f64, exact_sign))
      << +v;
  ASSERT_TRUE(correctly_rounded(M.rounding, negative, f16 & 0x7fff, kF16.max_finite, false, value_of(kF16), exact_sign))
      << +v;
  ASSERT_TRUE(
      correctly_rounded(M.rounding, negative, bf16 & 0x7fff, kBf16.max_finite, false, value_of(kBf16), exact_sign))
      << +v;
  ASSERT_EQ(f32 >> 31, negative ? 1u : 0u);
}

template <class Int>
void expect_int_to_float_of(uint64_t raw) {
  const auto v = static_cast<Int>(raw);
  expect_int_to_float<kRn>(v);
  expect_int_to_float<kRz>(v);
  expect_int_to_float<kRm>(v);
  expect_int_to_float<kRp>(v);
}

TEST(Convert, IntToFloatIsCorrectInEveryRounding) {
  Rng rng(5);
  for (int i = 0; i < 8000 && !HasFatalFailure(); ++i) {
    uint64_t raw = rng.next() >> rng.below(64);
    if (i % 4 == 0) raw = (uint64_t{1} << rng.below(64)) + (uint64_t{1} << rng.below(64)) - rng.below(3);
    expect_int_to_float_of<int32_t>(raw);
    expect_int_to_float_of<uint32_t>(raw);
    expect_int_to_float_of<int64_t>(raw);
    expect_int_to_float_of<uint64_t>(raw);
    expect_int_to_float_of<int16_t>(raw);
    expect_int_to_float_of<uint8_t>(raw);
  }
  for (const uint64_t raw :
       {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, uint64_t{1} << 31}) {
    expect_int_to_float_of<int64_t>(raw);
    expect_int_to_float_of<uint64_t>(raw);
    expect_int_to_float_of<int32_t>(raw);
  }
}

TEST(Convert, RoundToIntegralKeepsTheSignOfZero) {
  EXPECT_EQ(round_to_integral(2.5f), 2.0f);
  EXPECT_EQ(round_to_integral<kRp>(2.25), 3.0);
  EXPECT_EQ(round_to_integral<kRm>(-2.25f), -3.0f);
  EXPECT_EQ(round_to_integral<kRz>(-2.75), -2.0);
  EXPECT_TRUE(std::signbit(round_to_integral(-0.25f)));
  EXPECT_EQ(round_to_integral(1e30f), 1e30f);
  EXPECT_EQ(std::bit_cast<uint32_t>(round_to_integral(-kNan)), 0x7fffffffu);
}

TEST(Convert, FloatToFloatSpecialValues) {
  EXPECT_EQ(std::bit_cast<uint32_t>(f64_to_f32(std::bit_cast<double>(0xfff8000000000123u))), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<uint32_t>(f64_to_f32<kRz>(std::bit_cast<double>(0xfff8000000000123u))), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<uint64_t>(f32_to_f64(std::bit_cast<float>(0xff800001u))), 0xfff8000020000000u);
  EXPECT_EQ(f64_to_f32<kRz>(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(f64_to_f32<kRp>(1e300), kInf);
  EXPECT_EQ(f64_to_f32<kRp>(1e-300), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ((f64_to_f32<Mods{.rounding = Rounding::rn, .ftz = true}>(1e-40)), 0.0f);
  EXPECT_EQ(f64_to_f32<Mods{.sat = true}>(1e300), 1.0f);
  EXPECT_EQ(f32_to_f64<Mods{.ftz = true}>(1e-40f), 0.0);
  EXPECT_EQ(f_to_same<Mods{.sat = true}>(7.0f), 1.0f);
  EXPECT_EQ((int_to_float<float, Mods{.sat = true}>(-5)), 0.0f);
}

TEST(Convert, IntegersSaturate) {
  EXPECT_EQ(saturate_cast<int8_t>(300), 127);
  EXPECT_EQ(saturate_cast<int8_t>(-300), -128);
  EXPECT_EQ(saturate_cast<uint8_t>(-1), 0);
  EXPECT_EQ(saturate_cast<int32_t>(uint32_t{0xffffffff}), INT32_MAX);
  EXPECT_EQ(saturate_cast<uint64_t>(int64_t{-5}), 0u);
  EXPECT_EQ(saturate_cast<uint32_t>(int64_t{1} << 40), 0xffffffffu);
  EXPECT_EQ(saturate_cast<int64_t>(~uint64_t{0}), INT64_MAX);
  EXPECT_EQ(saturate_cast<int16_t>(int8_t{-7}), -7);
}

}  // namespace
}  // namespace fb::num
