#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

constexpr double kHalf = unit_roundoff(DType::bf16);
constexpr int64_t kDim = 128;
constexpr int64_t kDrawn = 10;  // tokens of a place that are compared, drawn anew for every call

// Queries are scaled by 8, so that some keys count much more than others. Ranks with the same heads have the same
// weight.
void fill(Case& c) {
  const int tp = static_cast<int>(c["tp"]);
  for (int r = 0; r < c.world(); ++r) {
    for (bf16& value : c.input<bf16>("q", r)) value = bf16(8 * static_cast<float>(value));
    if (r < tp) continue;
    const auto from = c.input<bf16>("weight", r % tp), to = c.input<bf16>("weight", r);
    for (size_t i = 0; i < to.size(); ++i) to[i] = from[i];
  }
}

// Each number of the context is off by at most e (attention::Attention::bound, and its own rounding to bf16). The
// result is a sum of such numbers times weights. If errors of different numbers are independent of each other and have
// mean 0, then by Hoeffding the sum of e_n w_n exceeds 7 times the root of the sum of (e_n w_n)^2 with a probability
// below 2 exp(-49 / 2) = 5e-11; the worst case would be the sum of all |e_n w_n|, some fifteen times as much, and
// larger than most results.
//
// The product itself is a sum in float: 2 units for each addition. The part of each rank of the group may be rounded to
// bf16, and their sum in bf16 rounds in each of tp - 1 additions.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], kv_heads = c["kv_heads"], share = c["share"], hidden = c["hidden"], tp = c["tp"];
  const int64_t heads = kv_heads * share, places = c.world() / tp, depth = heads * kDim;
  const auto position = [&](int64_t place, int64_t t) {
    return (t < tokens ? place : 2 * places - 1 - place) * tokens + t % tokens;
  };
  for (int64_t place = 0; place < places; ++place) {
    const std::vector<int64_t> drawn = attention::draw(c.random, 2 * tokens, std::min<int64_t>(2 * tokens, kDrawn));
    const auto count = static_cast<int64_t>(drawn.size());
    std::vector<double> values(static_cast<size_t>(count * hidden)), squares(values.size()), others(values.size());
    for (int64_t inner = 0; inner < tp; ++inner) {
      const bf16* q = c.input<bf16>("q", static_cast<int>(place * tp + inner)).data();
      std::vector<double> context(static_cast<size_t>(count * depth)), errors(context.size());
      for (int64_t h = 0; h < kv_heads; ++h) {
        // Row i is the query of the drawn token i / share and head h * share + i % share.
        const auto head = [&](int64_t i) { return (h * share + i % share) * kDim; };
        attention::Attention a(count * share, kDim, kDim, 1 / std::sqrt(static_cast<double>(kDim)),
                               [&](int64_t i, int64_t d) { return q[drawn[i / share] * depth + head(i) + d]; });
        for (int64_t s = 0; s < places; ++s) {
          const int rank = static_cast<int>(s * tp + inner);
          const bf16 *k = c.input<bf16>("k", rank).data(), *v = c.input<bf16>("v", rank).data();
          a.add(
              2 * tokens, [&](int64_t j, int64_t d) { return k[(j * kv_heads + h) * kDim + d]; },
              [&](int64_t j, int64_t d) { return v[(j * kv_heads + h) * kDim + d]; },
              [&](int64_t i, int64_t j) { return position(s, j) <= position(place, drawn[i / share]); });
        }
        for (int64_t i = 0; i < a.queries(); ++i) {
          for (int64_t d = 0; d < kDim; ++d) {
            const double error = a.bound(i, d, static_cast<int>(places));
            const auto at = static_cast<size_t>(i / share * depth + head(i) + d);
            context[at] = a.value(i, d);
            errors[at] = error + kHalf * (std::fabs(context[at]) + error);
          }
        }
      }
      const bf16* from = c.input<bf16>("weight", static_cast<int>(place * tp + inner)).data();
      std::vector<double> weight(from, from + hidden * depth), square(weight), size(weight);
      for (double& w : square) w *= w;
      for (double& w : size) w = std::fabs(w);
      std::vector<double> variances(errors), sizes(context);
      for (double& e : variances) e *= e;
      for (double& x : sizes) x = std::fabs(x);
      const double sum = 2 * static_cast<double>(depth) * unit_roundoff(DType::f32) * 1.01;
      for (int64_t t = 0; t < count; ++t) {
        for (int64_t j = 0; j < hidden; ++j) {
          const auto at = static_cast<size_t>(t * hidden + j), x = static_cast<size_t>(t * depth),
                     w = static_cast<size_t>(j * depth);
          const double part = attention::dot(depth / attention::kLanes, &context[x], &weight[w]);
          values[at] += part;
          squares[at] += attention::dot(depth / attention::kLanes, &variances[x], &square[w]);
          others[at] += sum * attention::dot(depth / attention::kLanes, &sizes[x], &size[w]);
          others[at] += kHalf * std::fabs(part) * static_cast<double>(tp);
        }
      }
    }
    for (int64_t inner = 0; inner < tp; ++inner) {
      Output out = c.output("out", static_cast<int>(place * tp + inner));
      for (int64_t i = 0; i < 2 * tokens * hidden; ++i) out.ignore(i);
      for (int64_t i = 0; i < count * hidden; ++i) {
        const auto at = static_cast<size_t>(i);
        out.set(drawn[i / hidden] * hidden + i % hidden, values[at],
                (7 * std::sqrt(squares[at]) + others[at]) * (1 + 0x1p-6));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
