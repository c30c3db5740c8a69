#pragma once

// For the oracles of this family: choices of experts as routers leave them, matrix products, routers and experts with
// the bounds of their errors.

#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

namespace moe {

constexpr double kFloat = fabricbench::oracle::unit_roundoff(fabricbench::oracle::DType::f32);
constexpr double kHalf = fabricbench::oracle::unit_roundoff(fabricbench::oracle::DType::bf16);

// Chooses up to k different experts for each token of each rank, anew at every call: ids[s][t * k + j], -1 where there
// is none. A quarter of the experts has no token, in half of the calls a whole rank has none; one expert is as popular
// as all others together. One choice in 8 is dropped; the last tokens of some ranks are padding, on some all of them.
// No rank gets more than `room` choices of all ranks: those that come later are dropped, too.
inline void choose(fabricbench::oracle::Random& random, std::vector<std::span<int32_t>>& ids, int64_t k, int64_t local,
                   int64_t room) {
  const auto world = static_cast<int64_t>(ids.size()), experts = world * local;
  const int64_t idle = random.below(2 * world);
  std::vector<double> upto(static_cast<size_t>(experts));
  double sum = 0;
  for (int64_t e = 0; e < experts; ++e) {
    sum += e / local == idle || random.below(4) == 0 ? 0 : random.between(0.2, 1);
    upto[e] = sum;
  }
  int64_t hot = random.below(experts);
  if (hot / local == idle) hot = (hot + local) % experts;
  const double more = std::max(sum, 1.0);
  for (int64_t e = hot; e < experts; ++e) upto[e] += more;
  sum += more;

  std::vector<int64_t> taken(static_cast<size_t>(world));
  // Token by token over all ranks: none of them is served first.
  const auto tokens = static_cast<int64_t>(ids[0].size()) / k;
  std::vector<int64_t> valid;
  for (int64_t s = 0; s < world; ++s) {
    const int64_t kind = random.below(8);
    valid.push_back(kind < 5 ? tokens : kind == 5 ? 0 : random.below(tokens + 1));
  }
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t s = 0; s < world; ++s) {
      int32_t* row = &ids[s][t * k];
      for (int64_t j = 0; j < k; ++j) {
        row[j] = -1;
        if (t >= valid[s] || random.below(8) == 0) continue;
        for (int attempt = 0; attempt < 8 && row[j] < 0; ++attempt) {
          const double at = random.unit() * sum;
          const auto e = static_cast<int32_t>(std::upper_bound(upto.begin(), upto.end(), at) - upto.begin());
          if (e >= experts || std::find(row, row + j, e) != row + j || taken[e / local] == room) continue;
          ++taken[e / local];
          row[j] = e;
        }
      }
    }
  }
}

// Matrix products in double with the sums of their terms' squares, from which the bounds follow. Blocked, and in
// vectors: some 5 billion products a second on one core. Results are the same on every processor: one order of
// summation, nothing fused.
//
//   moe::Product c(rows, n);
//   c.add(k, [&](int64_t i, int64_t l) { return a[i * k + l]; },    // element (i, l) of the left factor
//            [&](int64_t l, int64_t j) { return b[j * k + l]; });   // element (l, j) of the right one
//
// Several calls of add() are one longer sum.

// One copy of a function for each width of vectors; the loader takes the best that the processor has.
#if defined(__x86_64__) && defined(__linux__)
#define FABRICBENCH_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FABRICBENCH_WIDEST
#endif

constexpr int64_t kRows = 6, kColumns = 8;  // of a tile, whose sums are in registers
constexpr int64_t kDepth = 256;             // of a block of both factors: a tile's parts of them fit the first cache
constexpr int64_t kPanels = 64;             // tiles side by side whose part of the right factor fits the second one

using Vector = double __attribute__((vector_size(kColumns * sizeof(double))));

// Adds `depth` products to each sum of a tile, and their squares. `a` has kRows numbers for each step of the depth,
// `b` has kColumns.
FABRICBENCH_WIDEST inline void multiply_tile(int64_t depth, const double* a, const double* b, double* value,
                                             double* square) {
  Vector sums[kRows], squares[kRows];
  __builtin_memcpy(sums, value, sizeof sums);
  __builtin_memcpy(squares, square, sizeof squares);
  for (int64_t l = 0; l < depth; ++l, a += kRows, b += kColumns) {
    Vector right;
    __builtin_memcpy(&right, b, sizeof right);
#pragma GCC unroll 6
    for (int64_t i = 0; i < kRows; ++i) {
      const Vector term = a[i] * right;
      sums[i] += term;
      squares[i] += term * term;
    }
  }
  __builtin_memcpy(value, sums, sizeof sums);
  __builtin_memcpy(square, squares, sizeof squares);
}

class Product {
 public:
  Product(int64_t rows, int64_t columns)
      : rows_(rows),
        columns_(columns),
        panels_((columns + kColumns - 1) / kColumns),
        strips_((rows + kRows - 1) / kRows),
        values_(static_cast<size_t>(strips_ * panels_ * kRows * kColumns)),
        squares_(values_.size()) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // Adds the product of a rows x depth and a depth x columns matrix.
  template <class Left, class Right>
  void add(int64_t depth, Left left, Right right) {
    depth_ += depth;
    const int64_t block = std::min(kDepth, depth);
    std::vector<double> a(static_cast<size_t>(strips_ * kRows * block));
    std::vector<double> b(static_cast<size_t>(std::min(kPanels, panels_) * kColumns * block));
    for (int64_t first = 0; first < depth; first += block) {
      const int64_t steps = std::min(block, depth - first);
      for (int64_t strip = 0; strip < strips_; ++strip) {
        const int64_t row = strip * kRows;
        pack<kRows>(&a[static_cast<size_t>(row * block)], steps, rows_ - row,
                    [&](int64_t i, int64_t l) { return left(row + i, first + l); });
      }
      for (int64_t panel = 0; panel < panels_; panel += kPanels) {
        const int64_t panels = std::min(kPanels, panels_ - panel);
        for (int64_t p = 0; p < panels; ++p) {
          const int64_t column = (panel + p) * kColumns;
          pack<kColumns>(&b[static_cast<size_t>(p * kColumns * block)], steps, columns_ - column,
                         [&](int64_t j, int64_t l) { return right(first + l, column + j); });
        }
        for (int64_t strip = 0; strip < strips_; ++strip) {
          for (int64_t p = 0; p < panels; ++p) {
            const auto tile = static_cast<size_t>((strip * panels_ + panel + p) * kRows * kColumns);
            multiply_tile(steps, &a[static_cast<size_t>(strip * kRows * block)],
                          &b[static_cast<size_t>(p * kColumns * block)], &values_[tile], &squares_[tile]);
          }
        }
      }
    }
  }

  double value(int64_t i, int64_t j) const { return values_[at(i, j)]; }

  // What the sum of the terms is at most, with signs drawn at random: 6 standard deviations, or the sum of their
  // magnitudes if that is less (it is at most sqrt(depth) times the root of their squares' sum). Errors that go through
  // further sums are followed with 1 deviation, so that there are 6 in the end.
  double spread(int64_t i, int64_t j, double deviations = 6) const {
    return std::min(deviations, std::sqrt(static_cast<double>(depth_))) * std::sqrt(squares_[at(i, j)]);
  }

  // How far the sum may be off, before its rounding to the output's format, if it is formed in f32 in any order that
  // does not depend on the numbers. Each addition is off by at most 2 units of what has been added up by then (tensor
  // cores cut off instead of rounding), which is the sum itself and a random part at most.
  double bound(int64_t i, int64_t j) const {
    return 2 * static_cast<double>(depth_) * kFloat * (std::fabs(value(i, j)) + spread(i, j));
  }

 private:
  // The numbers of a tile, kCount for each step; zeros where the matrix has no more.
  template <int64_t kCount, class Element>
  static void pack(double* to, int64_t steps, int64_t count, Element element) {
    if (count >= kCount) {
      for (int64_t l = 0; l < steps; ++l) {
        for (int64_t i = 0; i < kCount; ++i) to[l * kCount + i] = static_cast<double>(element(i, l));
      }
      return;
    }
    for (int64_t l = 0; l < steps; ++l) {
      for (int64_t i = 0; i < kCount; ++i) to[l * kCount + i] = i < count ? static_cast<double>(element(i, l)) : 0;
    }
  }
  size_t at(int64_t i, int64_t j) const {
    if (i < 0 || i >= rows_ || j < 0 || j >= columns_) throw std::out_of_range("moe::Product: no such element");
    return static_cast<size_t>((i / kRows * panels_ + j / kColumns) * kRows * kColumns + i % kRows * kColumns +
                               j % kColumns);
  }
  int64_t rows_, columns_, panels_, strips_, depth_ = 0;
  std::vector<double> values_, squares_;
};

// Routers: probabilities of experts are the softmax of logits, a token's numbers times the expert's row of the router.
// The k largest are chosen.

constexpr double kGap = 1.0 / 32;  // between the last logit that is chosen and the first that is not

struct Routing {
  std::vector<int64_t> experts;         // [token][k], the most likely first
  std::vector<double> weights, errors;  // [token][k]: probabilities, and how far they may be off in f32
};

// Experts in descending order of a token's logits; at ties the one with the smaller number first.
inline std::vector<int64_t> ranked(const std::vector<double>& logits) {
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return logits[a] > logits[b]; });
  return order;
}

// Errors: a logit is off by at most the bound of its sum, D. The difference to the largest one, R at most, is rounded
// once, and its exponential has a relative error of 2 R + 8 units (__expf). That holds for the dividend and for the
// divisor; the sum of the latter and the quotient add a unit for each expert and 4 more. `among_chosen`: weights are
// divided by their sum, so that they are the softmax of the chosen logits alone.
inline Routing route(const fabricbench::oracle::bf16* x, const fabricbench::oracle::bf16* router, int64_t tokens,
                     int64_t hidden, int64_t experts, int64_t k, bool among_chosen = false) {
  Product logits(tokens, experts);
  logits.add(
      hidden, [&](int64_t i, int64_t l) { return x[i * hidden + l]; },
      [&](int64_t l, int64_t j) { return router[j * hidden + l]; });
  Routing routing;
  std::vector<double> row(static_cast<size_t>(experts));
  for (int64_t t = 0; t < tokens; ++t) {
    double off = 0, sum = 0;
    for (int64_t e = 0; e < experts; ++e) {
      row[e] = logits.value(t, e);
      off = std::max(off, logits.bound(t, e));
    }
    const std::vector<int64_t> order = ranked(row);
    const double most = row[order.front()], range = most - row[order.back()];
    for (int64_t j = 0; j < (among_chosen ? k : experts); ++j) sum += std::exp(row[order[j]] - most);
    const double error = 2 * (2 * off + (3 * range + 8) * kFloat) + static_cast<double>(experts + 4) * kFloat;
    for (int64_t j = 0; j < k; ++j) {
      const double weight = std::exp(row[order[j]] - most) / sum;
      routing.experts.push_back(order[j]);
      routing.weights.push_back(weight);
      routing.errors.push_back(weight * error);
    }
  }
  return routing;
}

// Multiplies by the power of two that is next to 4 / sqrt(depth): sums of `depth` products with numbers of [-1, 1) are
// then around 1, where exponentials are bent.
inline void scale_down(std::span<fabricbench::oracle::bf16> values, int64_t depth) {
  const auto scale = static_cast<float>(std::exp2(std::round(std::log2(4 / std::sqrt(static_cast<double>(depth))))));
  for (auto& value : values) value = fabricbench::oracle::bf16(static_cast<float>(value) * scale);
}

// Half of the tokens lean to the expert `hot`: an eighth of their numbers get the signs of its row. A token whose
// choice rounding errors could change is drawn anew.
inline void decide(fabricbench::oracle::Random& random, std::span<fabricbench::oracle::bf16> x,
                   const fabricbench::oracle::bf16* router, int64_t hidden, int64_t experts, int64_t k, int64_t hot) {
  std::vector<double> logits(static_cast<size_t>(experts));
  for (size_t token = 0; token < x.size(); token += static_cast<size_t>(hidden)) {
    const bool leans = random.below(2) == 0;
    for (bool clear = false; !clear;) {
      for (int64_t i = 0; leans && i < hidden; i += 8) {
        const float value = x[token + i], towards = router[hot * hidden + i];
        x[token + i] = fabricbench::oracle::bf16(std::copysign(value, towards));
      }
      for (int64_t e = 0; e < experts; ++e) {
        double sum = 0;
        for (int64_t i = 0; i < hidden; ++i)
          sum += static_cast<double>(x[token + i]) * static_cast<double>(router[e * hidden + i]);
        logits[e] = sum;
      }
      const std::vector<int64_t> order = ranked(logits);
      clear = k == experts || logits[order[k - 1]] - logits[order[k]] >= kGap;
      for (int64_t i = 0; !clear && i < hidden; ++i)
        x[token + i] = fabricbench::oracle::bf16(static_cast<float>(random.between(-1, 1)));
    }
  }
}

// Rows of numbers, and how far each may be off.
struct Rows {
  std::vector<double> values, errors;
};

// silu(u) * v, rounded to bf16. The slope of silu is at most 1.1 in modulus. In float, exp(-u) has a relative error of
// at most (2 |u| + 8) units: the rounding of u / ln 2 and of the exponent's function (__expf). That of the sum with 1
// and of the quotient (3 units each, __fdividef), and of the product, come on top. du and dv come on top of the bounds
// of u and v.
template <class ErrorOfU, class ErrorOfV>
Rows gate(const Product& u, const Product& v, ErrorOfU du, ErrorOfV dv) {
  Rows h;
  for (int64_t i = 0; i < u.rows(); ++i) {
    for (int64_t n = 0; n < u.columns(); ++n) {
      const double a = u.value(i, n), b = v.value(i, n), da = u.bound(i, n) + du(i, n), db = v.bound(i, n) + dv(i, n);
      const double silu = a / (1 + std::exp(-a));
      const double dsilu = 1.1 * da + (std::fabs(silu) + 1.1 * da) * (2 * (std::fabs(a) + da) + 16) * kFloat;
      const double error = std::fabs(silu) * db + dsilu * (std::fabs(b) + db);
      h.values.push_back(silu * b);
      h.errors.push_back(error + (std::fabs(silu * b) + error) * kHalf);
    }
  }
  return h;
}
inline Rows gate(const Product& u, const Product& v) {
  const auto none = [](int64_t, int64_t) { return 0.0; };
  return gate(u, v, none, none);
}

// Rows of h times a matrix that is stored by columns, [columns][depth], rounded to bf16. Errors of the numbers of h are
// taken as independent of each other, each as large as it may be: if they added up in the worst case, zeros would pass
// for many numbers of the result.
inline Rows down(const Rows& h, const fabricbench::oracle::bf16* weight, int64_t rows, int64_t columns, int64_t depth,
                 double deviations = 6) {
  Product product(rows, columns), off(rows, columns);
  const auto right = [&](int64_t l, int64_t j) { return weight[j * depth + l]; };
  product.add(depth, [&](int64_t i, int64_t l) { return h.values[i * depth + l]; }, right);
  off.add(depth, [&](int64_t i, int64_t l) { return h.errors[i * depth + l]; }, right);
  Rows y;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const double value = product.value(i, j);
      const double error = product.bound(i, j) + off.spread(i, j, deviations);
      y.values.push_back(value);
      y.errors.push_back(error + (std::fabs(value) + error) * kHalf);
    }
  }
  return y;
}

// The weighted sums of experts' rows for the tokens of one rank. Errors of different experts' rows are independent of
// each other: their squares add up. Those of weights are not.
class Mixture {
 public:
  Mixture(int64_t tokens, int64_t hidden, int64_t k)
      : hidden_(hidden),
        k_(k),
        values_(static_cast<size_t>(tokens * hidden)),
        bounds_(values_.size()),
        squares_(values_.size()) {}

  // Row `row` of y is an expert's for `choice`, token * k + place. In f32: a rounding of the product, and k additions.
  void add(const Routing& routing, int64_t choice, const Rows& y, int64_t row) {
    const double weight = routing.weights[choice], off = routing.errors[choice];
    const double units = static_cast<double>(k_ + 1) * kFloat;
    for (int64_t n = 0; n < hidden_; ++n) {
      const auto at = static_cast<size_t>(choice / k_ * hidden_ + n), from = static_cast<size_t>(row * hidden_ + n);
      const double most = std::fabs(y.values[from]) + y.errors[from];
      values_[at] += weight * y.values[from];
      squares_[at] += weight * y.errors[from] * weight * y.errors[from];
      bounds_[at] += off * most + (weight + off) * most * units;
    }
  }
  void set(fabricbench::oracle::Output out) const {
    for (size_t i = 0; i < values_.size(); ++i)
      out.set(static_cast<int64_t>(i), values_[i], bounds_[i] + std::sqrt(squares_[i]));
  }

 private:
  int64_t hidden_, k_;
  std::vector<double> values_, bounds_, squares_;
};

}  // namespace moe
