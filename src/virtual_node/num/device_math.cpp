#include "virtual_node/num/device_math.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/check.h"
#include "virtual_node/num/convert.h"
#include "virtual_node/num/device_thunk.h"
#include "virtual_node/num/minmax.h"
#include "virtual_node/num/special_functions.h"

namespace fb::num {
namespace {

class Table {
 public:
  // One row for the function as it is.
  template <class Function>
  void one(std::string_view name, Function) {
    using Thunk = detail::SameThunk<Function>;
    rows_.push_back({name, Thunk::kSignature, Thunk::call});
  }

  // Two rows from one double function; `float_name` is the double name and a final f.
  template <class Function>
  void both(std::string_view float_name, Function function) {
    using Thunk = detail::NarrowThunk<Function>;
    rows_.push_back({float_name, Thunk::kSignature, Thunk::call});
    one(float_name.substr(0, float_name.size() - 1), function);
  }

  std::vector<DeviceFunction> take_sorted() {
    std::ranges::sort(rows_, {}, &DeviceFunction::name);
    const auto same_name = std::ranges::adjacent_find(rows_, {}, &DeviceFunction::name);
    FB_CHECK(same_name == rows_.end(), "two device functions of one name");
    return std::move(rows_);
  }

 private:
  std::vector<DeviceFunction> rows_;
};

using Integer = int64_t;

void add_exponentials(Table& t) {
  t.both("expf", [](double x) { return std::exp(x); });
  t.both("exp2f", [](double x) { return std::exp2(x); });
  t.both("exp10f", [](double x) { return exp10(x); });
  t.both("expm1f", [](double x) { return std::expm1(x); });
  t.both("logf", [](double x) { return std::log(x); });
  t.both("log2f", [](double x) { return std::log2(x); });
  t.both("log10f", [](double x) { return std::log10(x); });
  t.both("log1pf", [](double x) { return std::log1p(x); });
  t.both("powf", [](double x, double y) { return std::pow(x, y); });
  t.both("powif", [](double x, int32_t n) { return std::pow(x, n); });
}

void add_trigonometry(Table& t) {
  t.both("sinf", [](double x) { return std::sin(x); });
  t.both("cosf", [](double x) { return std::cos(x); });
  t.both("tanf", [](double x) { return std::tan(x); });
  t.both("sinpif", [](double x) { return sinpi(x); });
  t.both("cospif", [](double x) { return cospi(x); });
  t.both("sincosf", [](double x, double* s, double* c) {
    *s = std::sin(x);
    *c = std::cos(x);
  });
  t.both("sincospif", [](double x, double* s, double* c) {
    *s = sinpi(x);
    *c = cospi(x);
  });
  t.both("asinf", [](double x) { return std::asin(x); });
  t.both("acosf", [](double x) { return std::acos(x); });
  t.both("atanf", [](double x) { return std::atan(x); });
  t.both("atan2f", [](double y, double x) { return std::atan2(y, x); });
  t.both("sinhf", [](double x) { return std::sinh(x); });
  t.both("coshf", [](double x) { return std::cosh(x); });
  t.both("tanhf", [](double x) { return std::tanh(x); });
  t.both("asinhf", [](double x) { return std::asinh(x); });
  t.both("acoshf", [](double x) { return std::acosh(x); });
  t.both("atanhf", [](double x) { return std::atanh(x); });
}

void add_special(Table& t) {
  t.both("erff", [](double x) { return std::erf(x); });
  t.both("erfcf", [](double x) { return std::erfc(x); });
  t.both("erfinvf", [](double x) { return erfinv(x); });
  t.both("erfcinvf", [](double x) { return erfcinv(x); });
  t.both("erfcxf", [](double x) { return erfcx(x); });
  t.both("normcdff", [](double x) { return normcdf(x); });
  t.both("normcdfinvf", [](double x) { return normcdfinv(x); });
  t.both("lgammaf", [](double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);  // std::lgamma writes a global
  });
  t.both("tgammaf", [](double x) { return std::tgamma(x); });
  t.both("j0f", [](double x) { return ::j0(x); });
  t.both("j1f", [](double x) { return ::j1(x); });
  t.both("jnf", [](int32_t n, double x) { return bessel_jn(n, x); });
  t.both("y0f", [](double x) { return ::y0(x); });
  t.both("y1f", [](double x) { return ::y1(x); });
  t.both("ynf", [](int32_t n, double x) { return bessel_yn(n, x); });
  t.both("cyl_bessel_i0f", [](double x) { return bessel_i0(x); });
  t.both("cyl_bessel_i1f", [](double x) { return bessel_i1(x); });
}

void add_roots(Table& t) {
  t.both("sqrtf", [](double x) { return std::sqrt(x); });
  t.both("rsqrtf", [](double x) { return 1 / std::sqrt(x); });
  t.both("cbrtf", [](double x) { return std::cbrt(x); });
  t.both("rcbrtf", [](double x) { return rcbrt(x); });
  t.both("hypotf", [](double x, double y) { return std::hypot(x, y); });
  t.both("rhypotf", [](double x, double y) { return 1 / std::hypot(x, y); });
  t.both("norm3df", [](double x, double y, double z) { return std::hypot(x, y, z); });
  t.both("rnorm3df", [](double x, double y, double z) { return 1 / std::hypot(x, y, z); });
  t.both("norm4df", [](double x, double y, double z, double w) { return std::hypot(std::hypot(x, y), z, w); });
  t.both("rnorm4df", [](double x, double y, double z, double w) { return 1 / std::hypot(std::hypot(x, y), z, w); });
}

// Exact operations: the float result is exact as well, because double holds it.
void add_remainders_and_parts(Table& t) {
  t.both("fmodf", [](double x, double y) { return std::fmod(x, y); });
  t.both("remainderf", [](double x, double y) { return std::remainder(x, y); });
  t.both("remquof", [](double x, double y, int32_t* quotient) { return std::remquo(x, y, quotient); });
  t.both("ldexpf", [](double x, int32_t n) { return std::ldexp(x, n); });
  t.both("scalbnf", [](double x, int32_t n) { return std::scalbn(x, n); });
  t.both("scalblnf", [](double x, Integer n) { return std::scalbln(x, n); });
  t.both("frexpf", [](double x, int32_t* exponent) { return std::frexp(x, exponent); });
  t.both("modff", [](double x, double* whole) { return std::modf(x, whole); });
  t.both("logbf", [](double x) { return std::logb(x); });
  t.both("ilogbf", [](double x) { return int32_t{std::ilogb(x)}; });
  t.both("fdimf", [](double x, double y) { return std::fdim(x, y); });
  t.both("fminf", [](double x, double y) { return min(x, y); });
  t.both("fmaxf", [](double x, double y) { return max(x, y); });
  t.both("fabsf", [](double x) { return std::fabs(x); });
  t.both("copysignf", [](double x, double y) { return std::copysign(x, y); });
  // Neighbours and fused sums know their own precision.
  t.one("nextafterf", [](float x, float y) { return std::nextafter(x, y); });
  t.one("nextafter", [](double x, double y) { return std::nextafter(x, y); });
  t.one("fmaf", [](float x, float y, float z) { return std::fma(x, y, z); });
  t.one("fma", [](double x, double y, double z) { return std::fma(x, y, z); });
}

// The conversions clamp as cvt does; the C library leaves what does not fit to the host.
void add_roundings(Table& t) {
  t.both("ceilf", [](double x) { return std::ceil(x); });
  t.both("floorf", [](double x) { return std::floor(x); });
  t.both("truncf", [](double x) { return std::trunc(x); });
  t.both("roundf", [](double x) { return std::round(x); });
  t.both("rintf", [](double x) { return std::rint(x); });
  t.both("nearbyintf", [](double x) { return std::nearbyint(x); });
  t.both("llroundf", [](double x) { return float_to_int<Integer>(std::round(x)); });
  t.both("lroundf", [](double x) { return float_to_int<Integer>(std::round(x)); });
  t.both("llrintf", [](double x) { return float_to_int<Integer, kRn>(x); });
  t.both("lrintf", [](double x) { return float_to_int<Integer, kRn>(x); });
}

std::vector<DeviceFunction> make_table() {
  Table t;
  add_exponentials(t);
  add_trigonometry(t);
  add_special(t);
  add_roots(t);
  add_remainders_and_parts(t);
  add_roundings(t);
  return t.take_sorted();
}

}  // namespace

std::span<const DeviceFunction> device_functions() {
  static const std::vector<DeviceFunction> table = make_table();
  return table;
}

const DeviceFunction* find_device_function(std::string_view name) {
  const auto table = device_functions();
  const auto found = std::ranges::lower_bound(table, name, {}, &DeviceFunction::name);
  return found != table.end() && found->name == name ? &*found : nullptr;
}

}  // namespace fb::num
