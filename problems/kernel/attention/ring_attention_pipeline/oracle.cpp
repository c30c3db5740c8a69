#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

constexpr int64_t kDim = 64;
constexpr double kScale = 0.125;

// A query and how far each of its numbers may be off.
struct Row {
  double value[kDim], error[kDim];
};

// Stage s has queries that are off by e_d, each by itself, since the stage before has rounded its results and computed
// in float. How far is its attention off, a = sum over keys j of w_j v_j? Scores move by D_j = scale * sum e_d k_jd.
// - To first order a moves by sum over j of w_j D_j (v_j - a), that is scale * sum over d of e_d C_d, where C_d is the
//   covariance of number d of the keys and the values, by the weights. So |move| <= scale * sum |e_d| |C_d|.
// - With D = max |D_j|, the second derivative along the way is sum over j of w'_j ((D_j - mean)^2 - variance) (v_j -
// a'),
//   which is at most 5 D^2 * 2 sum w'_j |v_j|, and weights on the way are at most e^(2 D) times those at its begin.
//   Half of it is the remainder.
// On top come the errors of computing attention itself (mathematics.h), one addition in float, and one rounding to
// bf16.
Row step(const Row& query, int64_t keys, const std::vector<const bf16*>& k, const std::vector<const bf16*>& v,
         int64_t stride) {
  attention::Attention a(1, kDim, kDim, kScale, [&](int64_t, int64_t d) { return query.value[d]; });
  double largest = 0;
  for (size_t r = 0; r < k.size(); ++r) {
    a.add(
        keys, [&](int64_t j, int64_t d) { return k[r][j * stride + d]; },
        [&](int64_t j, int64_t d) { return v[r][j * stride + d]; }, [](int64_t, int64_t) { return true; });
  }
  // Sums over keys of w_j k_jd and of w_j k_jd v_je.
  std::vector<double> mean(kDim), product(static_cast<size_t>(kDim * kDim));
  bool exact = true;
  for (const double e : query.error) exact = exact && e == 0;
  if (!exact) {
    for (size_t r = 0; r < k.size(); ++r) {
      for (int64_t j = 0; j < keys; ++j) {
        double key[kDim], value[kDim], score = 0, moved = 0;
        for (int64_t d = 0; d < kDim; ++d) {
          key[d] = k[r][j * stride + d];
          value[d] = v[r][j * stride + d];
          score += query.value[d] * key[d];
          moved += query.error[d] * std::fabs(key[d]);
        }
        largest = std::max(largest, kScale * moved);
        const double weight = std::exp(kScale * score - a.log_sum(0));
        for (int64_t d = 0; d < kDim; ++d) {
          const double part = weight * key[d];
          mean[static_cast<size_t>(d)] += part;
          double* to = &product[static_cast<size_t>(d * kDim)];
          for (int64_t e = 0; e < kDim; ++e) to[e] += part * value[e];
        }
      }
    }
  }
  const double second = 5 * largest * largest * std::exp(2 * largest);
  Row result;
  for (int64_t e = 0; e < kDim; ++e) {
    double first = 0;
    for (int64_t d = 0; d < kDim; ++d) {
      const auto at = static_cast<size_t>(d);
      first += query.error[d] * std::fabs(product[static_cast<size_t>(d * kDim + e)] - mean[at] * a.value(0, e));
    }
    result.value[e] = query.value[e] + a.value(0, e);
    const double computing = a.bound(0, e, static_cast<int>(k.size())) + (exact ? 0 : 0x1p-10 * a.magnitude(0, e));
    const double sum = query.error[e] + std::exp(2 * largest) * computing + kScale * first + second * a.magnitude(0, e);
    result.error[e] = sum + unit_roundoff(DType::f32) * (std::fabs(result.value[e]) + sum);
  }
  return result;
}

void expect(Case& c) {
  const int64_t batches = c["batches"], tokens = c["tokens"], heads = c["heads"], keys = c["keys"], cp = c["cp"];
  const int64_t stages = c.world() / cp, rows = batches * tokens, all = rows * heads;
  // Of large sizes some of the queries of each rank are looked at, the same in all stages.
  const int64_t count = all * keys * cp < 1 << 11 ? all : 4;
  std::vector<std::vector<const bf16*>> k(static_cast<size_t>(stages)), v(k.size());
  for (int r = 0; r < c.world(); ++r) {
    k[static_cast<size_t>(r / cp)].push_back(c.input<bf16>("k", r).data());
    v[static_cast<size_t>(r / cp)].push_back(c.input<bf16>("v", r).data());
    Output y = c.output("y", r);
    for (int64_t i = 0; i < y.size() && count < all; ++i) y.ignore(i);
  }
  for (int64_t place = 0; place < cp; ++place) {
    const bf16* x = c.input<bf16>("x", static_cast<int>(place)).data();
    for (const int64_t i : attention::draw(c.random, all, count)) {
      Row row{};
      for (int64_t d = 0; d < kDim; ++d) row.value[d] = x[i * kDim + d];
      for (int64_t s = 0; s < stages; ++s) {
        std::vector<const bf16*> k_of_head, v_of_head;
        for (const bf16* p : k[static_cast<size_t>(s)]) k_of_head.push_back(p + i % heads * kDim);
        for (const bf16* p : v[static_cast<size_t>(s)]) v_of_head.push_back(p + i % heads * kDim);
        row = step(row, keys, k_of_head, v_of_head, heads * kDim);
        Output y = c.output("y", static_cast<int>(s * cp + place));
        for (int64_t d = 0; d < kDim; ++d) {
          y.set(i * kDim + d, row.value[d], row.error[d]);
          row.error[d] += unit_roundoff(DType::bf16) * (std::fabs(row.value[d]) + row.error[d]);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
