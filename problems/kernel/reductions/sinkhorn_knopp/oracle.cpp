#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32);
constexpr int kIterations = 3;

// A prototype's popularity, what the rank's images add to it, and what the single image does: up to 1 in all.
void fill(Case& c) {
  const auto prototypes = static_cast<size_t>(c["prototypes"]);
  std::vector<double> popular(prototypes), here(prototypes);
  for (double& p : popular) p = c.random.between(-0.3, 0.3);
  for (int r = 0; r < c.world(); ++r) {
    for (size_t k = 0; k < prototypes; ++k) here[k] = popular[k] + c.random.between(-0.3, 0.3);
    size_t k = 0;
    for (float& value : c.input<float>("logits", r)) {
      value = static_cast<float>(here[k] + c.random.between(-0.4, 0.4));
      if (++k == prototypes) k = 0;
    }
  }
}

// All numbers are positive, so that relative errors add up and no sum has a larger one than its terms and its
// additions.
//
// P: the argument, up to 20 in size, may be off by 4 roundings (a division by 0.05 in float: one of the constant, two
// of the division; one of the product with log2(e) in __expf), and the exponential by 4 units.
// A sum of n terms: min(n, 4096) additions; a product and the reciprocal (2 units in the last place): 5 more.
// u_n has the errors of P, v_(n-1) and its own sum, v_n those of P, u_n and its own sum, q those of P, u_3, v_3 and two
// products.
void expect(Case& c) {
  const auto images = static_cast<size_t>(c["images"]), prototypes = static_cast<size_t>(c["prototypes"]);
  const int world = c.world();
  const size_t rows = images * static_cast<size_t>(world);
  std::vector<double> p(rows * prototypes), u(prototypes), v(rows, 1);
  for (int r = 0; r < world; ++r) {
    const auto logits = c.input<float>("logits", r);
    double* to = &p[static_cast<size_t>(r) * images * prototypes];
    for (size_t i = 0; i < logits.size(); ++i) to[i] = std::exp(20 * static_cast<double>(logits[i]));
  }
  const double of_p = 4 * 20 + 8, of_row = std::fmin(static_cast<double>(rows), 4096) + 5,
               of_column = std::fmin(static_cast<double>(prototypes), 4096) + 5;
  double of_u = 0, of_v = 0;
  for (int n = 0; n < kIterations; ++n) {
    std::ranges::fill(u, 0.0);
    for (size_t b = 0; b < rows; ++b) {
      const double *row = &p[b * prototypes], by = v[b];
      for (size_t k = 0; k < prototypes; ++k) u[k] += row[k] * by;
    }
    for (double& sum : u) sum = 1 / sum;
    of_u = of_p + of_v + of_row;
    for (size_t b = 0; b < rows; ++b) {
      const double* row = &p[b * prototypes];
      double sum = 0;
      for (size_t k = 0; k < prototypes; ++k) sum += row[k] * u[k];
      v[b] = 1 / sum;
    }
    of_v = of_p + of_u + of_column;
  }
  const double relative = std::expm1((of_p + of_u + of_v + 2) * kFloat);  // products of (1 + error)
  for (int r = 0; r < world; ++r) {
    Output q = c.output("q", r);
    for (size_t b = 0; b < images; ++b) {
      const size_t row = static_cast<size_t>(r) * images + b;
      for (size_t k = 0; k < prototypes; ++k) {
        const double value = p[row * prototypes + k] * u[k] * v[row];
        q.set(static_cast<int64_t>(b * prototypes + k), value, value * relative);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
