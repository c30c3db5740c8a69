#pragma once

// What oracles of losses over a vocabulary share: the vocabulary has world * vocab words, of which rank r has the
// logits of words r * vocab up to (r + 1) * vocab, bf16, [tokens][vocab].

#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace vocab {

using fabricbench::oracle::bf16;
using fabricbench::oracle::Case;

// Writes all logits. Those of a row are within 8 of each other on each rank. In a quarter of the rows they are so
// large, of either sign, that their exponentials are no floats; ranks' parts are shifted against each other, so that
// each has another share of the sum.
inline void draw_logits(Case& c, int64_t tokens, int64_t words) {
  for (int64_t t = 0; t < tokens; ++t) {
    const double offset = c.random.below(4) == 0 ? c.random.between(-200, 200) : c.random.between(-4, 4);
    for (int r = 0; r < c.world(); ++r) {
      const auto low = static_cast<float>(offset + c.random.between(-1, 1) - 4);
      const auto row = c.input<bf16>("logits", r).subspan(static_cast<size_t>(t * words), static_cast<size_t>(words));
      uint64_t bits = 0;
      for (size_t j = 0; j < row.size(); ++j, bits >>= 16) {
        if (j % 4 == 0) bits = c.random.bits();
        row[j] = bf16(low + static_cast<float>(bits & 0xFFFF) * 0x1p-13F);
      }
    }
  }
}

// Row t of all ranks, in the order of words.
inline std::vector<float> whole_row(Case& c, int64_t t, int64_t words) {
  std::vector<float> row;
  row.reserve(static_cast<size_t>(words) * static_cast<size_t>(c.world()));
  for (int r = 0; r < c.world(); ++r) {
    const auto part = c.input<bf16>("logits", r).subspan(static_cast<size_t>(t * words), static_cast<size_t>(words));
    row.insert(row.end(), part.begin(), part.end());
  }
  return row;
}

// The first `count` words of a row, or all of them: by falling logits, equal ones by rising numbers.
inline std::vector<int64_t> first_words(const std::vector<float>& row, int64_t count) {
  const auto kept = static_cast<size_t>(std::min(count, static_cast<int64_t>(row.size())));
  std::vector<float> sorted = row;
  const auto last = sorted.begin() + static_cast<int64_t>(kept) - 1;
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  const float threshold = *last;
  std::vector<int64_t> words;
  for (size_t v = 0; v < row.size(); ++v) {
    if (row[v] >= threshold) words.push_back(static_cast<int64_t>(v));
  }
  std::stable_sort(words.begin(), words.end(),
                   [&](int64_t v, int64_t w) { return row[static_cast<size_t>(v)] > row[static_cast<size_t>(w)]; });
  words.resize(kept);
  return words;
}

// Makes the top of each row worth selecting: three times k words, anywhere or all on one rank, are raised above all
// others, by amounts that thin out upwards. Then targets: among the first k words, the last of these, the first behind
// them, and any word.
inline void draw_tops_and_targets(Case& c, int64_t tokens, int64_t words, int64_t k) {
  const auto target = c.input<int32_t>("target", 0);
  for (int64_t t = 0; t < tokens; ++t) {
    const auto logit = [&](int64_t word) -> bf16& {
      return c.input<bf16>("logits", static_cast<int>(word / words))[static_cast<size_t>(t * words + word % words)];
    };
    const float base = logit(c.random.below(words * c.world()));  // within 10 of all others
    const int64_t only = c.random.below(4) == 0 ? c.random.below(c.world()) : -1;
    for (int64_t i = 0; i < 3 * k; ++i) {
      const int64_t word = only < 0 ? c.random.below(words * c.world()) : only * words + c.random.below(words);
      logit(word) = bf16(base + 10 - 1.5F * static_cast<float>(std::log(c.random.between(0x1p-8, 1))));
    }
    const std::vector<int64_t> first = first_words(whole_row(c, t, words), k + 1);
    const int64_t kind = c.random.below(5), inside = std::min(k, static_cast<int64_t>(first.size()));
    int64_t word = c.random.below(words * c.world());
    if (kind <= 1) word = first[static_cast<size_t>(c.random.below(inside))];
    if (kind == 2) word = first[static_cast<size_t>(inside - 1)];
    if (kind == 3) word = first.back();
    target[static_cast<size_t>(t)] = static_cast<int32_t>(word);
  }
}

// How far the logarithm of a sum of n exponentials, in float, may be off, with a logit added. `operations` is how many
// additions and scalings an exponential takes part in, `distance` that of the smallest logit from the largest, `most`.
// With u = 2^-24:
//
// - __expf(-d) is off by 2 + 1.173 d units in the last place (CUDA's manual), that is by 4 + 2.35 d times u; d itself
// is
//   rounded, which is d u more. A scaling is a product, u, with another such exponential. The distances of all scalings
//   of a term and of its own add up to D at most, since maxima only grow. So each operation costs at most 5 u, and
//   distances 3.35 D u: the sum, of positive terms, is off by E = (5 operations + 4 + 3.35 D) u of itself.
// - Its logarithm is off by E, and by 3 units in the last place or 2^-21.4 (__logf), 6 u log(n) + 6 u.
// - If ranks exchange logarithms, there is one more logarithm of this kind, and two roundings of a logarithm plus a
//   maximum, whose absolute values are below |largest logit| + D + log(n). The sum at the end has three such roundings.
inline double log_sum_bound(double operations, double distance, double n, double most) {
  const double sum = 5 * operations + 4 + 3.35 * distance, logarithm = 6 * std::log(n) + 6;
  return (sum + 2 * logarithm + 5 * (std::fabs(most) + distance + std::log(n))) *
         fabricbench::oracle::unit_roundoff(fabricbench::oracle::DType::f32);
}

}  // namespace vocab
