#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

void fill(Case& c) {
  vocab::draw_logits(c, c["tokens"], c["vocab"]);
  vocab::draw_tops_and_targets(c, c["tokens"], c["vocab"], c["k"]);
}

// The sum has k terms. An exponential takes part in up to k additions, and in two products where parts are brought to
// the same scale or equal ones are counted.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], words = c["vocab"], k = c["k"];
  const auto target = c.input<int32_t>("target", 0);
  Output log_prob = c.output("log_prob");
  for (int64_t t = 0; t < tokens; ++t) {
    const std::vector<float> row = vocab::whole_row(c, t, words);
    const std::vector<int64_t> kept = vocab::first_words(row, k);
    const int64_t word = target[static_cast<size_t>(t)];
    if (std::find(kept.begin(), kept.end(), word) == kept.end()) {
      log_prob.set(t, -1e30F);
      continue;
    }
    const auto logit = [&](int64_t v) -> double { return row[static_cast<size_t>(v)]; };
    const double most = logit(kept.front());
    double sum = 0;
    for (const int64_t v : kept) sum += std::exp(logit(v) - most);
    log_prob.set(
        t, logit(word) - most - std::log(sum),
        vocab::log_sum_bound(static_cast<double>(k + 2), most - logit(kept.back()), static_cast<double>(k), most));
  }
}

FABRICBENCH_ORACLE(expect, fill)
