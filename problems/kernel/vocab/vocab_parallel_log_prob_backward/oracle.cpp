#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32);

void fill(Case& c) {
  vocab::draw_logits(c, c["tokens"], c["vocab"]);
  vocab::draw_tops_and_targets(c, c["tokens"], c["vocab"], c["k"]);
  for (float& grad : c.input<float>("grad", 0)) {
    const auto size = static_cast<float>(std::exp2(c.random.between(-10, 2)));
    grad = c.random.below(2) == 0 ? size : -size;
  }
}

// A probability is an exponential over a sum, or the exponential of a logit without the sum's logarithm. The second is
// off by more: by as much as the logarithm is, as a part of itself (vocab::log_sum_bound), by one more exponential, 4 +
// 3.35 d times u = 2^-24 with d the distance of the logarithm from the logit, and by the rounding of that distance,
// whose parts are as large as the logarithm. Then a difference from 1 or 0, and a product: two roundings.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], words = c["vocab"], k = c["k"];
  const auto target = c.input<int32_t>("target", 0);
  const auto grad = c.input<float>("grad", 0);
  std::vector<Output> dlogits;
  for (int r = 0; r < c.world(); ++r) {
    dlogits.push_back(c.output("dlogits", r));
    for (int64_t i = 0; i < tokens * words; ++i) dlogits.back().set(i, 0);
  }
  for (int64_t t = 0; t < tokens; ++t) {
    const std::vector<float> row = vocab::whole_row(c, t, words);
    const std::vector<int64_t> kept = vocab::first_words(row, k);
    const int64_t word = target[static_cast<size_t>(t)];
    if (std::find(kept.begin(), kept.end(), word) == kept.end()) continue;
    const auto logit = [&](int64_t v) -> double { return row[static_cast<size_t>(v)]; };
    const double most = logit(kept.front()), distance = most - logit(kept.back());
    double sum = 0;
    for (const int64_t v : kept) sum += std::exp(logit(v) - most);
    const auto terms = static_cast<double>(k);
    const double relative = vocab::log_sum_bound(terms + 2, distance, terms, most) +
                            (4 + 3.35 * (distance + std::log(terms)) + 2 * std::fabs(most)) * kFloat;
    const double factor = grad[static_cast<size_t>(t)];
    for (const int64_t v : kept) {
      const double p = std::exp(logit(v) - most) / sum, value = (v == word ? 1 : 0) - p;
      const double error = p * relative + 2 * kFloat * (std::fabs(value) + p * relative);
      dlogits[static_cast<size_t>(v / words)].set(t * words + v % words, factor * value, std::fabs(factor) * error);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
