#include <fabricbench/oracle.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-5;
constexpr double kFloat = unit_roundoff(DType::f32);

// What the forward pass has kept: mean and 1 / standard deviation of each row.
void fill(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), hidden = static_cast<size_t>(c["hidden"]);
  for (int r = 0; r < c.world(); ++r) {
    const auto x = c.input<bf16>("x", r);
    const auto mean = c.input<float>("mean", r), rstd = c.input<float>("rstd", r);
    for (size_t t = 0; t < tokens; ++t) {
      double sum = 0, squares = 0;
      for (const double value : x.subspan(t * hidden, hidden)) {
        sum += value;
        squares += value * value;
      }
      const double average = sum / static_cast<double>(hidden);
      const double variance = std::fmax(squares / static_cast<double>(hidden) - average * average, 0);
      mean[t] = static_cast<float>(average);
      rstd[t] = static_cast<float>(1 / std::sqrt(variance + kEpsilon));
    }
  }
}

// A sum of n numbers in float is within n - 1 roundings of the sum of their magnitudes, in any order and without terms
// of higher order (Jeannerod and Rump). A term of dbeta is exact. One of dgamma has three roundings, (x - mean) * rstd
// * dy, and as many where it is formed as (x * rstd - mean * rstd) * dy; then those of x * rstd and mean * rstd count
// in full, so that |x| + |mean| is the magnitude. One more is for the products of roundings. Output::set adds the
// rounding to bf16.
void expect(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), hidden = static_cast<size_t>(c["hidden"]);
  const double terms = static_cast<double>(tokens) * c.world();
  std::vector<double> gamma(hidden), gamma_most(hidden), beta(hidden), beta_most(hidden);
  for (int r = 0; r < c.world(); ++r) {
    const auto dy = c.input<bf16>("dy", r), x = c.input<bf16>("x", r);
    const auto mean = c.input<float>("mean", r), rstd = c.input<float>("rstd", r);
    for (size_t t = 0; t < tokens; ++t) {
      const bf16 *of_dy = &dy[t * hidden], *of_x = &x[t * hidden];
      const double average = mean[t], factor = rstd[t], average_most = std::fabs(average);
      for (size_t j = 0; j < hidden; ++j) {
        const double gradient = of_dy[j], value = of_x[j], scaled = gradient * factor;
        gamma[j] += scaled * (value - average);
        gamma_most[j] += std::fabs(scaled) * (std::fabs(value) + average_most);
        beta[j] += gradient;
        beta_most[j] += std::fabs(gradient);
      }
    }
  }
  Output dgamma = c.output("dgamma"), dbeta = c.output("dbeta");
  for (size_t j = 0; j < hidden; ++j) {
    dgamma.set(static_cast<int64_t>(j), gamma[j], (terms + 3) * kFloat * gamma_most[j]);
    dbeta.set(static_cast<int64_t>(j), beta[j], terms * kFloat * beta_most[j]);
  }
}

FABRICBENCH_ORACLE(expect, fill)
