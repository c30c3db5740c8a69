#include "virtual_node/num/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace fb::num {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSqrtPi = 1.7724538509055160273;

// A first guess for y in (0, 1] with an error of about 1e-2: Abramowitz & Stegun 26.2.23, which inverts the normal tail
// y/2; erfc(z) = y there means z = tail / √2.
double guess_erfcinv(double y) {
  const double t = std::sqrt(-2 * std::log(y / 2));
  const double numerator = 2.515517 + t * (0.802853 + t * 0.010328);
  const double denominator = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  return (t - numerator / denominator) / std::numbers::sqrt2;
}

// One Halley step on erfc(z) = y. `residual` is erfc(z) - y.
double improve(double z, double residual) {
  const double u = residual / (-2 / kSqrtPi * std::exp(-z * z));
  return z - u / (1 + z * u);
}

// For y in (0, 1].
double erfcinv_positive(double y) {
  double z = guess_erfcinv(y);
  for (int i = 0; i < 3; ++i) {
    // Near 1 erfc(z) - y cancels; erf keeps the digits, and 1 - y is exact.
    const double residual = y > 0.5 ? (1 - y) - std::erf(z) : std::erfc(z) - y;
    z = improve(z, residual);
  }
  return z;
}

constexpr int kLargestOrder = 1 << 20;

// Σ (x²/4)^k / (k! (k + order)!): all terms positive, so nothing cancels. Ends at once for NaN and infinity.
double modified_bessel_series(int order, double quarter_square) {
  double term = 1;
  double sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= quarter_square / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

}  // namespace

double sinpi(double x) {
  if (!std::isfinite(x)) return kNan;
  const double r = std::remainder(x, 2.0);  // exact, in [-1, 1]
  if (r == 0 || std::fabs(r) == 1) return std::copysign(0.0, x);
  if (r > 0.5) return std::sin(std::numbers::pi * (1 - r));
  if (r < -0.5) return -std::sin(std::numbers::pi * (1 + r));
  return std::sin(std::numbers::pi * r);
}

double cospi(double x) {
  if (!std::isfinite(x)) return kNan;
  const double r = std::fabs(std::remainder(x, 2.0));
  if (r == 0.5) return 0.0;
  if (r <= 0.25) return std::cos(std::numbers::pi * r);
  if (r >= 0.75) return -std::cos(std::numbers::pi * (1 - r));
  return std::sin(std::numbers::pi * (0.5 - r));
}

// pow is accurate to less than an ulp and exact for the powers of ten that double holds.
double exp10(double x) { return std::pow(10.0, x); }

double rcbrt(double x) { return 1 / std::cbrt(x); }

double erfcx(double x) {
  if (x < 25) {
    // x² as two doubles: the lost half would count as a relative error of the result.
    const double square = x * x;
    const double rest = std::fma(x, x, -square);
    const double power = std::exp(square);
    return power == kInfinity ? kInfinity : power * (1 + rest) * std::erfc(x);
  }
  const double q = 1 / (2 * x * x);  // asymptotic series; its terms fall below 1e-17 by the sixth at x = 25
  const double series = 1 - q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q * (1 - 9 * q))));
  return series / (x * kSqrtPi);
}

double erfinv(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude < 1)) return magnitude == 1 ? std::copysign(kInfinity, x) : kNan;
  if (magnitude < 1e-9) return x * (kSqrtPi / 2);  // the next term is x³/12 of it
  if (magnitude >= 0.5) return std::copysign(erfcinv_positive(1 - magnitude), x);
  double z = magnitude * (kSqrtPi / 2);
  for (int i = 0; i < 4; ++i) z = improve(z, magnitude - std::erf(z));
  return std::copysign(z, x);
}

double erfcinv(double x) {
  if (!(x >= 0 && x <= 2)) return kNan;
  if (x == 0) return kInfinity;
  if (x == 2) return -kInfinity;
  if (x > 0.5 && x < 1.5) return erfinv(1 - x);
  return x <= 1 ? erfcinv_positive(x) : -erfcinv_positive(2 - x);
}

double normcdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double normcdfinv(double x) { return -std::numbers::sqrt2 * erfcinv(2 * x); }

double bessel_jn(int order, double x) {
  return order > kLargestOrder || order < -kLargestOrder ? kNan : ::jn(order, x);
}

double bessel_yn(int order, double x) {
  return order > kLargestOrder || order < -kLargestOrder ? kNan : ::yn(order, x);
}

double bessel_i0(double x) { return modified_bessel_series(0, x * x / 4); }

double bessel_i1(double x) { return x / 2 * modified_bessel_series(1, x * x / 4); }

}  // namespace fb::num
