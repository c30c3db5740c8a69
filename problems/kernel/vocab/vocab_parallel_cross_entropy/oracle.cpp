#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

constexpr double kOperations = 1024;  // additions and scalings that an exponential takes part in

// In half of the rows the target's logit is raised, by as much as makes its probability a half at most: losses are
// between that of a guess and that of a good model, and none is near 0.
void fill(Case& c) {
  const int64_t tokens = c["tokens"], words = c["vocab"];
  vocab::draw_logits(c, tokens, words);
  const auto target = c.input<int32_t>("target", 0);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t word = c.random.below(words * c.world());
    target[static_cast<size_t>(t)] = static_cast<int32_t>(word);
    if (c.random.below(2) == 0) continue;
    bf16& logit =
        c.input<bf16>("logits", static_cast<int>(word / words))[static_cast<size_t>(t * words + word % words)];
    logit = bf16(logit + static_cast<float>(c.random.between(0, std::log(static_cast<double>(words * c.world())))));
  }
}

void expect(Case& c) {
  const int64_t tokens = c["tokens"], words = c["vocab"];
  const auto target = c.input<int32_t>("target", 0);
  Output loss = c.output("loss");
  for (int64_t t = 0; t < tokens; ++t) {
    const std::vector<float> row = vocab::whole_row(c, t, words);
    const auto [least, largest] = std::minmax_element(row.begin(), row.end());
    const double most = *largest, distance = most - *least;
    double sum = 0;
    for (const float x : row) sum += std::exp(static_cast<double>(x) - most);
    loss.set(t, most + std::log(sum) - row[static_cast<size_t>(target[static_cast<size_t>(t)])],
             vocab::log_sum_bound(kOperations, distance, static_cast<double>(row.size()), most));
  }
}

FABRICBENCH_ORACLE(expect, fill)
