#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

// Every rank's part is a sum in f32, off by at most its bound(), and may be rounded to bf16. Parts may be added in
// bf16, in any order: a part takes part in at most world - 1 additions, the last of which is the rounding to the
// output's format that Output::set knows of. So each part is rounded at most world - 1 times before that one, and an
// error e of a part grows by as much: the sum is off by at most ((1 + u)^(world - 1) - 1) * sum |part| +
// (1 + u)^(world - 1) * sum e.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], depth = c["depth"];
  // Of large products some rows are looked at.
  const int64_t count = tokens * hidden < 1 << 16 ? tokens : 12;
  const std::vector<int64_t> rows = draw(c.random, tokens, count);
  std::vector<double> sums(static_cast<size_t>(count * hidden)), magnitudes(sums.size()), errors(sums.size());
  for (int r = 0; r < c.world(); ++r) {
    const bf16 *x = c.input<bf16>("x", r).data(), *weight = c.input<bf16>("weight", r).data();
    Product part(count, hidden);
    part.add(
        depth, [&](int64_t i, int64_t l) { return x[rows[static_cast<size_t>(i)] * depth + l]; },
        [&](int64_t l, int64_t j) { return weight[j * depth + l]; });
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < hidden; ++j) {
        const auto at = static_cast<size_t>(i * hidden + j);
        sums[at] += part.value(i, j);
        magnitudes[at] += std::fabs(part.value(i, j));
        errors[at] += part.bound(i, j);
      }
    }
  }
  const double growth = std::pow(1 + unit_roundoff(DType::bf16), c.world() - 1);
  Output y = c.output("y");
  if (count < tokens) {
    for (int64_t i = 0; i < y.size(); ++i) y.ignore(i);
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < hidden; ++j) {
      const auto at = static_cast<size_t>(i * hidden + j);
      y.set(rows[static_cast<size_t>(i)] * hidden + j, sums[at], (growth - 1) * magnitudes[at] + growth * errors[at]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
