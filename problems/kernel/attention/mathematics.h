#pragma once

// Softmax attention for the oracles of this family: in double, with the bounds of what kernels compute in float.
//
//   attention::Attention a(queries, dim, width, scale,
//                          [&](int64_t i, int64_t d) { return q[i * dim + d]; });
//   a.add(keys, [&](int64_t j, int64_t d) { return k[j * dim + d]; },      // a block of keys, of `dim` numbers each,
//               [&](int64_t j, int64_t d) { return v[j * width + d]; },    // their values, of `width` numbers,
//               [&](int64_t i, int64_t j) { return j <= i; });             // and whether query i sees key j
//   out.set(i * width + d, a.value(i, d), a.bound(i, d));
//
// Several calls of add() are one attention over all keys. Factors have any layout, and any type that converts to
// double. Queries to be looked at, where there are many: attention::draw. About 1.5 billion products a second on one
// core.

#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace attention {

constexpr int64_t kLanes = 8;
using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));
using Bits = int64_t __attribute__((vector_size(kLanes * sizeof(double))));

// The sum of products, in one order on every processor.
FABRICBENCH_WIDEST inline double dot(int64_t vectors, const double* a, const double* b) {
  Vector sums = {};
  for (int64_t k = 0; k < vectors; ++k, a += kLanes, b += kLanes) {
    Vector left, right;
    __builtin_memcpy(&left, a, sizeof left);
    __builtin_memcpy(&right, b, sizeof right);
    sums += left * right;
  }
  double sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

// value = value * old + weight * v, and the same with magnitudes.
FABRICBENCH_WIDEST inline void accumulate(int64_t vectors, double old, double weight, const double* v, double* value,
                                          double* magnitude) {
  for (int64_t k = 0; k < vectors * kLanes; k += kLanes) {
    Vector term, sum, size;
    __builtin_memcpy(&term, v + k, sizeof term);
    __builtin_memcpy(&sum, value + k, sizeof sum);
    __builtin_memcpy(&size, magnitude + k, sizeof size);
    term *= weight;
    sum = sum * old + term;
    size = size * old + (Vector)((Bits)term & INT64_MAX);
    __builtin_memcpy(value + k, &sum, sizeof sum);
    __builtin_memcpy(magnitude + k, &size, sizeof size);
  }
}

// Where a kernel may round the exponentials: bf16 is what tensor cores multiply with the values.
enum class Exponentials { in_float, in_bf16 };

class Attention {
 public:
  template <class Query>
  Attention(int64_t queries, int64_t dim, int64_t width, double scale, Query query)
      : dim_(dim),
        width_(width),
        depth_((dim + kLanes - 1) / kLanes),
        across_((width + kLanes - 1) / kLanes),
        scale_(scale),
        rows_(static_cast<size_t>(queries)),
        queries_(static_cast<size_t>(queries * depth_ * kLanes)),
        values_(static_cast<size_t>(queries * across_ * kLanes)),
        magnitudes_(values_.size()) {
    for (int64_t i = 0; i < queries; ++i) {
      double* to = &queries_[static_cast<size_t>(i * depth_ * kLanes)];
      for (int64_t d = 0; d < dim; ++d) to[d] = static_cast<double>(query(i, d));
      rows_[static_cast<size_t>(i)].norm = std::sqrt(dot(depth_, to, to));
    }
  }

  int64_t queries() const { return static_cast<int64_t>(rows_.size()); }

  template <class Key, class Value, class Visible>
  void add(int64_t keys, Key key, Value value, Visible visible) {
    std::vector<double> k(static_cast<size_t>(depth_ * kLanes)), v(static_cast<size_t>(across_ * kLanes));
    for (int64_t j = 0; j < keys; ++j) {
      bool loaded = false;
      double norm = 0;
      for (int64_t i = 0; i < queries(); ++i) {
        if (!visible(i, j)) continue;
        if (!loaded) {
          for (int64_t d = 0; d < dim_; ++d) k[static_cast<size_t>(d)] = static_cast<double>(key(j, d));
          for (int64_t d = 0; d < width_; ++d) v[static_cast<size_t>(d)] = static_cast<double>(value(j, d));
          norm = std::sqrt(dot(depth_, k.data(), k.data()));
          loaded = true;
        }
        Row& row = rows_[static_cast<size_t>(i)];
        const double score = scale_ * dot(depth_, &queries_[static_cast<size_t>(i * depth_ * kLanes)], k.data());
        const double top = std::max(row.top, score);
        const double old = row.keys == 0 ? 0 : std::exp(row.top - top), weight = std::exp(score - top);
        accumulate(across_, old, weight, v.data(), &values_[static_cast<size_t>(i * across_ * kLanes)],
                   &magnitudes_[static_cast<size_t>(i * across_ * kLanes)]);
        row.sum = row.sum * old + weight;
        row.top = top;
        row.size = std::max(row.size, std::fabs(score));
        row.longest = std::max(row.longest, norm);
        ++row.keys;
      }
    }
  }

  // Of query i: keys that it sees; without any, the value is 0 and the logarithm minus infinity.
  int64_t keys(int64_t i) const { return row(i).keys; }
  // sum over j of w_j v_j[d], where w = softmax(scale q k_j), and sum over j of w_j |v_j[d]|
  double value(int64_t i, int64_t d) const { return row(i).keys == 0 ? 0 : values_[at(i, d)] / row(i).sum; }
  double magnitude(int64_t i, int64_t d) const { return row(i).keys == 0 ? 0 : magnitudes_[at(i, d)] / row(i).sum; }
  // log of the sum over j of exp(scale q k_j)
  double log_sum(int64_t i) const { return row(i).top + std::log(row(i).sum); }

  // How far value() may be off before its rounding to the output's format. All is computed in float, in any order;
  // u = 2^-24. `merges`: how many normalised partial results are merged by their log-sums, one after the other, as
  // out += sigmoid(l_b - l) (out_b - out) or with exponentials; 1 where sums and accumulators of one maximum are added.
  //
  // - A score is a sum of `dim` products: tensor cores cut off, which is 2 units for each addition, and 4 roundings
  //   stand for factors (scale, log2 e). By Cauchy and Schwarz it is off by (2 dim + 4) u scale |q| |k|.
  // - The argument of the exponential, s - m or log2(e) s - log2(e) m for any reference m within the scores' range, is
  //   a difference of numbers of at most S = max |s|: 8 u S. The exponential itself has 2^-22 and a rounding: 8 u
  //   (__expf, exp2f, ex2.approx).
  // - Log-sums are at most L = S + log n. Each is a logarithm, 2 units in the last place, and a sum: 6 u L; a merged
  //   one carries the errors of those before it, and a weight is a product of as many factors: 16 u (L + 1) merges^2.
  // - So every weight has a relative error of at most e. It is the same in numerator and denominator, but for their
  //   sums: n additions (2 units each), n changes of the reference (1 unit each), a division (4 units).
  // - In the numerator weights may be rounded to bf16. It is the greatest part, 2^-8 of the magnitude.
  //
  // With E for the weights and the sums, N' = N (1 +- (E + 2^-8)) by magnitudes and l' = l (1 +- E).
  double bound(int64_t i, int64_t d, int merges = 1, Exponentials exponentials = Exponentials::in_bf16) const {
    if (row(i).keys == 0) return 0;
    const double e = weight_error(i, merges);
    const double half = exponentials == Exponentials::in_bf16 ? unit_bf16() * (1 + e) : 0;
    return ((e + half) * magnitude(i, d) + e * std::fabs(value(i, d))) / (1 - e);
  }
  // The same of log_sum().
  double log_sum_bound(int64_t i, int merges = 1) const {
    const double e = weight_error(i, merges);
    return e / (1 - e) + 6 * unit() * largest_log(row(i));
  }

 private:
  struct Row {
    double norm = 0;                                        // of the query
    double top = -std::numeric_limits<double>::infinity();  // the largest score
    double sum = 0, size = 0, longest = 0;                  // of exponentials; the largest |score|; the longest key
    int64_t keys = 0;
  };
  static double unit() { return fabricbench::oracle::unit_roundoff(fabricbench::oracle::DType::f32); }
  static double unit_bf16() { return fabricbench::oracle::unit_roundoff(fabricbench::oracle::DType::bf16); }
  static double largest_log(const Row& row) { return row.size + std::log(static_cast<double>(row.keys)); }

  const Row& row(int64_t i) const { return rows_.at(static_cast<size_t>(i)); }
  size_t at(int64_t i, int64_t d) const { return static_cast<size_t>(i * across_ * kLanes + d); }
  // (1 + small)^many - 1 is at most e / (1 - e) for the sum e.
  double weight_error(int64_t i, int merges) const {
    const Row& r = row(i);
    const double scores = (2 * static_cast<double>(dim_) + 4) * std::fabs(scale_) * r.norm * r.longest;
    const double exponentials = 8 * r.size + 8 + 16 * (largest_log(r) + 1) * merges * merges;
    const double e = unit() * (scores + exponentials + 3 * static_cast<double>(r.keys) + 4);
    return e / (1 - e);
  }

  int64_t dim_, width_, depth_, across_;
  double scale_;
  std::vector<Row> rows_;
  std::vector<double> queries_, values_, magnitudes_;
};

// Queries of an attention that is too large to be looked at as a whole.
using fabricbench::oracle::draw;

}  // namespace attention
