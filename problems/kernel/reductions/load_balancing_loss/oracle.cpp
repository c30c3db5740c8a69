#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32);

// An expert's popularity with all tokens, with those of a rank, and with one of them: up to 6 in all. Zeros are
// positive.
void fill(Case& c) {
  const auto experts = static_cast<size_t>(c["experts"]);
  std::vector<double> popular(experts), here(experts);
  for (double& p : popular) p = c.random.between(-1.5, 1.5);
  for (int r = 0; r < c.world(); ++r) {
    for (size_t e = 0; e < experts; ++e) here[e] = popular[e] + c.random.between(-1.5, 1.5);
    size_t e = 0;
    for (bf16& value : c.input<bf16>("logits", r)) {
      value = bf16(static_cast<float>(here[e] + c.random.between(-2.5, 2.5)));
      if (static_cast<float>(value) == 0) value = bf16(0.0F);
      if (++e == experts) e = 0;
    }
  }
}

// All numbers are positive, and relative errors add up. An exponential's argument is up to 12 in size and has up to 3
// roundings (a difference, a product with log2(e), and what __expf makes of it), and the exponential 4 units: 44. So a
// value of the softmax has twice that, the additions of its denominator, and 4 of a division (2 units in the last
// place, __fdividef). It takes part in at most 4,096 additions (the statement says so), or in as many as there are
// tokens. Divisions by the number of tokens: 4, and 1 for a reciprocal that is rounded before.
// A fraction has the division alone; the loss has both, a product, the additions over experts and one more product.
void expect(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), experts = static_cast<size_t>(c["experts"]);
  const auto top_k = static_cast<size_t>(c["top_k"]);
  std::vector<double> sums(experts), p(experts);
  std::vector<int64_t> counts(experts);
  std::vector<size_t> order(experts);
  for (int r = 0; r < c.world(); ++r) {
    const auto logits = c.input<bf16>("logits", r);
    for (size_t t = 0; t < tokens; ++t) {
      const bf16* x = &logits[t * experts];
      double total = 0;
      for (size_t e = 0; e < experts; ++e) {
        p[e] = std::exp(static_cast<double>(x[e]));
        total += p[e];
        order[e] = e;
      }
      for (size_t e = 0; e < experts; ++e) sums[e] += p[e] / total;
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top_k), order.end(),
                        [x](size_t a, size_t b) {
                          const float left = x[a], right = x[b];
                          return left > right || (left == right && a < b);
                        });
      for (size_t k = 0; k < top_k; ++k) ++counts[order[k]];
    }
  }
  const auto all = static_cast<double>(tokens) * c.world(), width = static_cast<double>(experts);
  const double of_fraction = 5 * kFloat, of_probability = (2 * 44 + width + 4 + std::fmin(all, 4096) + 5) * kFloat;
  Output fraction = c.output("fraction"), probability = c.output("probability");
  double loss = 0;
  for (size_t e = 0; e < experts; ++e) {
    const double f = static_cast<double>(counts[e]) / (all * static_cast<double>(top_k)), mean = sums[e] / all;
    fraction.set(static_cast<int64_t>(e), f, f * of_fraction);
    probability.set(static_cast<int64_t>(e), mean, mean * std::expm1(of_probability));
    loss += f * mean;
  }
  loss *= width;
  c.output("loss").set(0, loss, loss * std::expm1(of_fraction + of_probability + (width + 2) * kFloat));
}

FABRICBENCH_ORACLE(expect, fill)
