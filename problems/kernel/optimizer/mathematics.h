#pragma once

// Adam and AdamW for the oracles of this family: values in double, and how far a step in f32 may be off.
//
//   const optimizer::Step step(t, lr);                        // the call's number of steps, from 1, and learning rate
//   const auto to = optimizer::adam(step, {g, g_error}, m, v, w);
//   m_out.set(i, to.m.value, to.m.error);                     // set() adds the rounding to the output's format
//   optimizer::set_rounded(params, i, to.w);                  // bf16, exact wherever the error allows only one number

#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace optimizer {

constexpr double kBeta1 = 0.9, kBeta2 = 0.95, kEpsilon = 1e-8;
constexpr double kFloat = fabricbench::oracle::unit_roundoff(fabricbench::oracle::DType::f32);

// A number, and how far a computed one may be off.
struct Near {
  double value = 0, error = 0;
};

// 1 - beta^t in f32. The constant is off by half a unit, so that its power is off by at most t units; powf adds 8 (4
// units in the last place), t multiplications instead of it add t. The difference is rounded once.
inline Near correction(double beta, int64_t t) {
  const double power = std::pow(beta, static_cast<double>(t)), value = 1 - power;
  return {value, ((8 + 2 * static_cast<double>(t)) * power + value) * kFloat};
}

struct Step {
  double lr, decay;
  Near c1, c2;
  Step(int64_t t, double learning_rate, double weight_decay = 0)
      : lr(learning_rate), decay(weight_decay), c1(correction(kBeta1, t)), c2(correction(kBeta2, t)) {}
};

struct Stepped {
  Near m, v, w;
};

//   m' = b1 m + (1 - b1) g       v' = b2 v + (1 - b2) g^2       w' = w - lr (m' / c1 / (sqrt(v' / c2) + eps) + decay w)
//
// g may be off by g.error; all other inputs are exact. In units of 2^-24: a constant b is off by one; 1 - b1 by 6 and
// 1 - b2 by 11, because 0.9 and 0.95 are rounded before the subtraction. Each product and sum has one more. So terms of
// m' are off by at most 9, in whatever form (b1 m + (1 - b1) g, or m + (1 - b1) (g - m)), those of v' by 15. A quotient
// is right to 2 units in the last place, or is a product with a rounded reciprocal: 4; a root likewise: 4. The rest is
// evaluated at both ends of the intervals, because v' may be as small as its error.
inline Stepped adam(const Step& step, Near g, double m, double v, double w) {
  Stepped to;
  const double part = (1 - kBeta1) * g.value, square = g.value * g.value;
  to.m.value = kBeta1 * m + part;
  to.m.error = 9 * kFloat * (kBeta1 * std::fabs(m) + std::fabs(part)) + (1 - kBeta1) * g.error;
  to.v.value = kBeta2 * v + (1 - kBeta2) * square;
  to.v.error = 15 * kFloat * to.v.value + (1 - kBeta2) * g.error * (2 * std::fabs(g.value) + g.error);

  const Near &c1 = step.c1, &c2 = step.c2;
  const double size = std::fabs(to.m.value);
  const double root = std::sqrt(to.v.value / c2.value) + kEpsilon;
  const double least = std::sqrt(std::max(0.0, to.v.value - to.v.error) / (c2.value + c2.error)) + kEpsilon;
  const double most = std::sqrt((to.v.value + to.v.error) / (c2.value - c2.error)) + kEpsilon;
  // Relative: 4 of v' / c2, halved by the root; 4 of the root; 1 each of eps and the sum: 8 of the divisor. 4 each of
  // the quotients by c1 and by the divisor, 1 of the product with lr: 17 in all.
  const double update = step.lr * size / c1.value / root;
  const double high = step.lr * (size + to.m.error) / (c1.value - c1.error) / least * (1 + 18 * kFloat);
  const double low = step.lr * std::max(0.0, size - to.m.error) / (c1.value + c1.error) / most * (1 - 18 * kFloat);
  const double decayed = step.lr * step.decay * w;
  to.w.value = w - std::copysign(update, to.m.value) - decayed;
  // The decay has 4 roundings: its constant, two products, and 1 - lr decay or a sum; the other sums have one each.
  to.w.error = std::max(high - update, update - low) + 4 * kFloat * std::fabs(decayed) +
               (step.decay == 0 ? 0 : 2 * kFloat * (std::fabs(w) + high + std::fabs(decayed)));
  return to;
}

// A bf16 that is rounded from an f32 which may be off. Rounding is monotone: where both ends of the interval round to
// the same number, it must be that one, and elsewhere one of the two.
inline void set_rounded(fabricbench::oracle::Output& out, int64_t i, Near near) {
  const auto round = [](double value) -> double { return fabricbench::oracle::bf16(static_cast<float>(value)); };
  const double error = near.error + kFloat * (std::fabs(near.value) + near.error);
  const double low = round(near.value - error), high = round(near.value + error);
  if (low == high) {
    out.set(i, low);
  } else {
    out.set(i, near.value, error);
  }
}

}  // namespace optimizer
