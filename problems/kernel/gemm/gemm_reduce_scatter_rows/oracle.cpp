#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

// Every rank's part is a sum in f32, off by at most its bound(), and may be rounded to bf16. Parts and residual may be
// added in bf16, in any order: each of these world + 1 terms takes part in at most `world` additions, the last of which
// is the rounding to the output's format that Output::set knows of. With its own rounding a term is rounded at most
// `world` times before that one, and an error e of a part grows by as much: the result is off by at most
// ((1 + u)^world - 1) * sum |term| + (1 + u)^world * sum e.
void expect(Case& c) {
  const int64_t rows = c["rows"], hidden = c["hidden"], depth = c["depth"], world = c.world();
  // Of large products some rows of each rank are looked at.
  const int64_t count = world * rows * hidden * depth < 1 << 22 ? rows : std::min<int64_t>(rows, 2);
  std::vector<int64_t> drawn;  // of all ranks, `count` of each
  for (int64_t r = 0; r < world; ++r) {
    for (const int64_t row : draw(c.random, rows, count)) drawn.push_back(r * rows + row);
  }
  const auto terms = static_cast<size_t>(world * count * hidden);
  std::vector<double> sums(terms), magnitudes(terms), errors(terms);
  for (int r = 0; r < world; ++r) {
    const bf16 *x = c.input<bf16>("x", r).data(), *weight = c.input<bf16>("weight", r).data();
    Product part(world * count, hidden);
    part.add(
        depth, [&](int64_t i, int64_t l) { return x[drawn[static_cast<size_t>(i)] * depth + l]; },
        [&](int64_t l, int64_t j) { return weight[j * depth + l]; });
    for (int64_t i = 0; i < world * count; ++i) {
      for (int64_t j = 0; j < hidden; ++j) {
        const auto at = static_cast<size_t>(i * hidden + j);
        sums[at] += part.value(i, j);
        magnitudes[at] += std::fabs(part.value(i, j));
        errors[at] += part.bound(i, j);
      }
    }
  }
  const double growth = std::pow(1 + unit_roundoff(DType::bf16), world);
  for (int r = 0; r < world; ++r) {
    const bf16* residual = c.input<bf16>("residual", r).data();
    Output y = c.output("y", r);
    if (count < rows) {
      for (int64_t i = 0; i < y.size(); ++i) y.ignore(i);
    }
    for (int64_t i = r * count; i < (r + 1) * count; ++i) {
      const int64_t first = (drawn[static_cast<size_t>(i)] - r * rows) * hidden;
      for (int64_t j = 0; j < hidden; ++j) {
        const auto at = static_cast<size_t>(i * hidden + j);
        const double own = residual[first + j];
        y.set(first + j, sums[at] + own, (growth - 1) * (magnitudes[at] + std::fabs(own)) + growth * errors[at]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
