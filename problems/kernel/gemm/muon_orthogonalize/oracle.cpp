#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kSteps = 5;

// The whole matrix has another size at every call, and each rank's part another one than the others': a norm that is
// guessed, or computed of one part alone, is wrong.
void fill(Case& c) {
  const double size = std::exp2(c.random.between(-8, 8));
  for (int r = 0; r < c.world(); ++r) {
    const auto factor = static_cast<float>(size * std::exp2(c.random.between(-1, 1)));
    for (float& value : c.input<float>("m", r)) value *= factor;
  }
}

using Square = std::vector<double>;

static Square multiply(const Square& a, const Square& b, size_t n) {
  Square product(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) {
      const double factor = a[i * n + k];
      for (size_t j = 0; j < n; ++j) product[i * n + j] += factor * b[k * n + j];
    }
  }
  return product;
}

// All steps are polynomials of one matrix, G = M Mᵀ: X = Q M / |M|, where Q is the product of p(A), p(x) = a + b x +
// c x², over the steps, and A becomes p(A) A p(A). In double nothing is lost by this.
//
// The bound. Rounding errors are taken as independent of each other, with mean 0 and a standard deviation of at most u
// = 2^-24 times the number that is rounded (Higham and Mary, 2019): with bounds for the worst case zeros would pass.
//
// - A sum of d products is then off by u sqrt(d) of the product of the norms of its factors, and an element of A by u
//   sqrt(d) times the mean of A's eigenvalues; d is at most the larger of the numbers of rows and of columns.
// - A column of X is multiplied by such a matrix: sums over the rows, of independent errors. So an element is off by
//   u sqrt(d rows) of the root mean square of its column, times the size of a + |b| x + c x² for eigenvalues x around
//   1, which is 10, while p(x) itself is around 1.
// - That happens in each of 5 steps, whether X or A is carried along. Where it is A, small eigenvalues are off by as
//   much as large ones, and by 9 times more in proportion: singular values of random matrices that are 8 times as long
//   as high are within a factor of 2.1, and parts of different size make that 3.
// - 6 standard deviations.
constexpr double kFactor = kSteps * 10 * 9 * 6;

void expect(Case& c) {
  const int64_t rows = c["rows"], cols = c["cols"], columns = cols * c.world();
  const auto n = static_cast<size_t>(rows);
  Product gram(rows, rows);
  for (int r = 0; r < c.world(); ++r) {
    const float* m = c.input<float>("m", r).data();
    gram.add(
        cols, [&](int64_t i, int64_t k) { return m[i * cols + k]; },
        [&](int64_t k, int64_t j) { return m[j * cols + k]; });
  }
  double squares = 0;
  for (int64_t i = 0; i < rows; ++i) squares += gram.value(i, i);
  const double scale = 1 / std::max(std::sqrt(squares), 1e-7);

  Square a(n * n), q(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j)
      a[i * n + j] = gram.value(static_cast<int64_t>(i), static_cast<int64_t>(j)) * scale * scale;
    q[i * n + i] = scale;
  }
  for (int step = 0; step < kSteps; ++step) {
    Square p = multiply(a, a, n);
    for (size_t i = 0; i < n * n; ++i) p[i] = kB * a[i] + kC * p[i];
    for (size_t i = 0; i < n; ++i) p[i * n + i] += kA;
    q = multiply(p, q, n);
    a = multiply(multiply(p, a, n), p, n);
  }

  const double error = kFactor * unit_roundoff(DType::f32) *
                       std::sqrt(static_cast<double>(rows) * static_cast<double>(std::max(rows, columns)));
  for (int r = 0; r < c.world(); ++r) {
    const float* m = c.input<float>("m", r).data();
    Product x(rows, cols);
    x.add(
        rows, [&](int64_t i, int64_t k) { return q[static_cast<size_t>(i * rows + k)]; },
        [&](int64_t k, int64_t j) { return m[k * cols + j]; });
    Output out = c.output("out", r);
    for (int64_t j = 0; j < cols; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += x.value(i, j) * x.value(i, j);
      const double bound = error * std::sqrt(sum / static_cast<double>(rows));
      for (int64_t i = 0; i < rows; ++i) out.set(i * cols + j, x.value(i, j), bound);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
