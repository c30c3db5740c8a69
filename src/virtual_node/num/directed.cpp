#include "virtual_node/num/directed.h"

#include <cfenv>
#include <cmath>

#include "common/base/check.h"

namespace fb::num {
namespace {

int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::rn:
      return FE_TONEAREST;
    case Rounding::rz:
      return FE_TOWARDZERO;
    case Rounding::rm:
      return FE_DOWNWARD;
    case Rounding::rp:
      return FE_UPWARD;
    case Rounding::rna:
      break;
  }
  FB_CHECK(false, "no arithmetic rounds with ties away");
  return FE_TONEAREST;
}

class RoundingGuard {
 public:
  explicit RoundingGuard(Rounding rounding) : saved_(std::fegetround()) { std::fesetround(host_mode(rounding)); }
  ~RoundingGuard() { std::fesetround(saved_); }
  RoundingGuard(const RoundingGuard&) = delete;
  RoundingGuard& operator=(const RoundingGuard&) = delete;

 private:
  int saved_;
};

template <class T>
T reload(const volatile T& x) {
  return x;
}

// Operands and result pass through volatile accesses: compilers do not know that fesetround changes what `a + b` means,
// but they keep volatile accesses and calls in order.
template <class T, class Operation, class... Operands>
T compute(Rounding rounding, Operation operation, Operands... operands) {
  const RoundingGuard guard(rounding);
  const volatile T result = operation(reload<T>(operands)...);
  return result;
}

template <class T>
constexpr auto kAdd = [](T a, T b) { return a + b; };
template <class T>
constexpr auto kMul = [](T a, T b) { return a * b; };
template <class T>
constexpr auto kDiv = [](T a, T b) { return a / b; };
template <class T>
constexpr auto kFma = [](T a, T b, T c) { return std::fma(a, b, c); };
template <class T>
constexpr auto kSqrt = [](T a) { return std::sqrt(a); };

}  // namespace

float add_directed(Rounding rounding, float a, float b) { return compute<float>(rounding, kAdd<float>, a, b); }
float mul_directed(Rounding rounding, float a, float b) { return compute<float>(rounding, kMul<float>, a, b); }
float div_directed(Rounding rounding, float a, float b) { return compute<float>(rounding, kDiv<float>, a, b); }
float fma_directed(Rounding rounding, float a, float b, float c) {
  return compute<float>(rounding, kFma<float>, a, b, c);
}
float sqrt_directed(Rounding rounding, float a) { return compute<float>(rounding, kSqrt<float>, a); }

double add_directed(Rounding rounding, double a, double b) { return compute<double>(rounding, kAdd<double>, a, b); }
double mul_directed(Rounding rounding, double a, double b) { return compute<double>(rounding, kMul<double>, a, b); }
double div_directed(Rounding rounding, double a, double b) { return compute<double>(rounding, kDiv<double>, a, b); }
double fma_directed(Rounding rounding, double a, double b, double c) {
  return compute<double>(rounding, kFma<double>, a, b, c);
}
double sqrt_directed(Rounding rounding, double a) { return compute<double>(rounding, kSqrt<double>, a); }

}  // namespace fb::num
