#include "virtual_node/num/device_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "virtual_node/num/special_functions.h"

namespace fb::num {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
uint64_t slot(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

struct Called {
  uint64_t result = ~uint64_t{0};
  uint64_t outs[kMaxDeviceOutputs] = {};

  float f32() const { return std::bit_cast<float>(static_cast<uint32_t>(result)); }
  double f64() const { return std::bit_cast<double>(result); }
};

template <class... Args>
Called call(std::string_view name, Args... args) {
  Called called;
  const DeviceFunction* function = find_device_function(name);
  EXPECT_NE(function, nullptr) << name;
  if (function == nullptr) return called;
  const uint64_t slots[kMaxDeviceArguments] = {slot(args)...};
  function->call(slots, &called.result, called.outs);
  return called;
}

TEST(DeviceMath, TheTableIsOrderedAndWithinItsLimits) {
  const auto table = device_functions();
  EXPECT_GT(table.size(), 140u);
  EXPECT_TRUE(std::ranges::is_sorted(table, {}, &DeviceFunction::name));
  for (const DeviceFunction& function : table) {
    EXPECT_LE(function.signature.size(), 1u + kMaxDeviceArguments) << function.name;
    EXPECT_LE(std::ranges::count_if(function.signature, [](char c) { return c >= 'A' && c <= 'Z'; }),
              kMaxDeviceOutputs);
    EXPECT_EQ(find_device_function(function.name), &function);
  }
  EXPECT_EQ(find_device_function("no_such_function"), nullptr);
  EXPECT_EQ(find_device_function(""), nullptr);
}

TEST(DeviceMath, SignaturesFollowTheTypes) {
  EXPECT_EQ(find_device_function("expf")->signature, "ff");
  EXPECT_EQ(find_device_function("pow")->signature, "ddd");
  EXPECT_EQ(find_device_function("ldexpf")->signature, "ffi");
  EXPECT_EQ(find_device_function("frexpf")->signature, "ffI");
  EXPECT_EQ(find_device_function("sincos")->signature, "vdDD");
  EXPECT_EQ(find_device_function("sincosf")->signature, "vfFF");
  EXPECT_EQ(find_device_function("remquof")->signature, "fffI");
  EXPECT_EQ(find_device_function("llrintf")->signature, "lf");
  EXPECT_EQ(find_device_function("ilogb")->signature, "id");
  EXPECT_EQ(find_device_function("jnf")->signature, "fif");
  EXPECT_EQ(find_device_function("norm4d")->signature, "ddddd");
}

TEST(DeviceMath, CallsMarshalTheirArguments) {
  EXPECT_EQ(call("exp", 1.0).f64(), std::exp(1.0));
  EXPECT_EQ(call("expf", 1.0f).f32(), static_cast<float>(std::exp(1.0)));
  EXPECT_EQ(call("expf", 1.0f).result >> 32, 0u);
  EXPECT_EQ(call("powf", 3.0f, 4.0f).f32(), 81.0f);
  EXPECT_EQ(call("powi", 2.0, int32_t{-3}).f64(), 0.125);
  EXPECT_EQ(call("atan2", -1.0, -1.0).f64(), std::atan2(-1.0, -1.0));
  EXPECT_EQ(call("ldexpf", 0.75f, int32_t{-3}).f32(), 0.09375f);
  EXPECT_EQ(call("fmodf", 5.5f, 2.0f).f32(), 1.5f);
  EXPECT_EQ(call("jn", int32_t{2}, 1.5).f64(), ::jn(2, 1.5));
  EXPECT_TRUE(std::signbit(call("fmin", 0.0, -0.0).f64()));
  EXPECT_EQ(call("hypot", 3.0, 4.0).f64(), 5.0);
  EXPECT_EQ(call("norm4df", 2.0f, 2.0f, 2.0f, 2.0f).f32(), 4.0f);
  EXPECT_EQ(call("nextafterf", 1.0f, 2.0f).f32(), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(call("fmaf", 2.0f, 3.0f, 4.0f).f32(), 10.0f);
  EXPECT_EQ(static_cast<int32_t>(call("ilogbf", 0.25f).result), -2);
}

TEST(DeviceMath, PointerParametersComeBackAsOutputs) {
  const Called frexp = call("frexpf", 12.0f, int64_t{0});
  EXPECT_EQ(frexp.f32(), 0.75f);
  EXPECT_EQ(static_cast<int32_t>(frexp.outs[0]), 4);
  const Called modf = call("modf", -2.25, int64_t{0});
  EXPECT_EQ(modf.f64(), -0.25);
  EXPECT_EQ(std::bit_cast<double>(modf.outs[0]), -2.0);
  const Called sincos = call("sincosf", 0.5f, int64_t{0}, int64_t{0});
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(sincos.outs[0])), static_cast<float>(std::sin(0.5)));
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(sincos.outs[1])), static_cast<float>(std::cos(0.5)));
  const Called remquo = call("remquo", 7.0, 2.0, int64_t{0});
  EXPECT_EQ(remquo.f64(), -1.0);
  EXPECT_EQ(remquo.outs[0] & 7, 4u);
}

TEST(DeviceMath, RoundingToIntegersClampsAsCvtDoes) {
  EXPECT_EQ(static_cast<int64_t>(call("llrint", 2.5).result), 2);
  EXPECT_EQ(static_cast<int64_t>(call("llround", 2.5).result), 3);
  EXPECT_EQ(static_cast<int64_t>(call("lroundf", -2.5f).result), -3);
  EXPECT_EQ(static_cast<int64_t>(call("llrint", 1e300).result), INT64_MAX);
  EXPECT_EQ(static_cast<int64_t>(call("llrintf", std::nanf("")).result), INT64_MIN);
}

TEST(DeviceMath, NansAreCanonical) {
  EXPECT_EQ(call("logf", -1.0f).result, 0x7fffffffu);
  EXPECT_EQ(call("log", -1.0).result, 0xfff8000000000000u);
  EXPECT_EQ(call("erfinv", 2.0).result, 0xfff8000000000000u);
}

void expect_relative(double value, double expected, double bound) {
  EXPECT_LE(std::fabs(value - expected), std::fabs(expected) * bound) << value << " instead of " << expected;
}

TEST(SpecialFunctions, InverseErrorFunctionsInvert) {
  for (int i = 1; i < 100000; ++i) {
    const double z = 5.8 * i / 100000;
    if (z < 2) expect_relative(erfinv(std::erf(z)), z, 2e-14 * std::exp(z * z));  // erf itself loses this much
    expect_relative(erfcinv(std::erfc(z)), z, z < 0.5 ? 1e-15 / z : 1e-14);
    expect_relative(erfinv(-z / 5.9), -erfinv(z / 5.9), 0);
    if (HasFailure()) return;
  }
  for (const double y : {1e-300, 1e-100, 1e-20, 1e-5, 0.3, 0.7, 1.0, 1.7, 1.99}) {
    expect_relative(std::erfc(erfcinv(y)), y, 1e-12);
  }
  for (const double p : {1e-300, 1e-10, 0.1, 0.5, 0.9}) expect_relative(normcdf(normcdfinv(p)), p, 1e-12);
  EXPECT_EQ(erfinv(1.0), kInf);
  EXPECT_EQ(erfcinv(2.0), -kInf);
  EXPECT_TRUE(std::isnan(erfcinv(-0.5)));
  EXPECT_TRUE(std::signbit(erfinv(-0.0)));
  EXPECT_EQ(normcdfinv(0.5), 0.0);
}

TEST(SpecialFunctions, ErfcxAgreesWithItsDefinition) {
  for (double x = -5; x < 24.9; x += 0.01) {
    const long double wide = expl(static_cast<long double>(x) * x) * erfcl(x);
    expect_relative(erfcx(x), static_cast<double>(wide), 1e-13);
  }
  expect_relative(erfcx(25.0), erfcx(std::nextafter(25.0, 0.0)), 1e-13);
  expect_relative(erfcx(100.0), 5.6416137829894329e-3, 1e-15);
  EXPECT_EQ(erfcx(-30.0), kInf);
}

TEST(SpecialFunctions, BesselFunctionsEndForEveryArgument) {
  for (double x = 0.01; x < 600; x *= 1.1) {
    expect_relative(bessel_i0(x), std::cyl_bessel_i(0.0, x), 1e-12);
    expect_relative(bessel_i1(-x), -std::cyl_bessel_i(1.0, x), 1e-12);
  }
  EXPECT_EQ(bessel_i0(0.0), 1.0);
  EXPECT_EQ(bessel_i0(-kInf), kInf);
  EXPECT_EQ(bessel_i0(1e200), kInf);
  EXPECT_EQ(bessel_i1(-1e5), -kInf);
  EXPECT_TRUE(std::isnan(bessel_i1(std::nan(""))));
  EXPECT_EQ(bessel_jn(3, 2.0), ::jn(3, 2.0));
  EXPECT_TRUE(std::isnan(bessel_jn(std::numeric_limits<int>::min(), 2.0)));
}

TEST(SpecialFunctions, SinpiAndCospiAreExactWhereTheyCanBe) {
  for (int i = -1000; i <= 1000; ++i) {
    EXPECT_EQ(sinpi(i), 0.0);
    EXPECT_EQ(cospi(i), i % 2 == 0 ? 1.0 : -1.0);
    EXPECT_EQ(cospi(i + 0.5), 0.0);
    EXPECT_EQ(sinpi(i + 0.5), i % 2 == 0 ? 1.0 : -1.0);
  }
  for (double x = -0.999; x < 1; x += 0.001) {
    const long double angle = 3.14159265358979323846264338327950288L * static_cast<long double>(x);
    EXPECT_NEAR(sinpi(x), static_cast<double>(sinl(angle)), 1e-15);
    EXPECT_NEAR(cospi(x), static_cast<double>(cosl(angle)), 1e-15);
  }
  EXPECT_TRUE(std::isnan(sinpi(kInf)));
  EXPECT_EQ(exp10(3.0), 1000.0);
}

}  // namespace
}  // namespace fb::num
