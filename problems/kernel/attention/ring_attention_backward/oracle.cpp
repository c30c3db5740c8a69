#include <fabricbench/oracle.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

constexpr int64_t kDim = 128, kVectors = kDim / attention::kLanes;
constexpr double kFloat = unit_roundoff(DType::f32), kBf16 = unit_roundoff(DType::bf16);
const double kScale = 1 / std::sqrt(static_cast<double>(kDim));

struct Sizes {
  int64_t tokens, kv_heads, share, world;
  explicit Sizes(const Case& c) : tokens(c["tokens"]), kv_heads(c["kv_heads"]), share(c["share"]), world(c.world()) {}
  int64_t local() const { return 2 * tokens; }
  int64_t heads() const { return kv_heads * share; }
  int64_t position(int64_t rank, int64_t t) const {
    return (t < tokens ? rank : 2 * world - 1 - rank) * tokens + t % tokens;
  }
};

// Queries are scaled by 4, so that scores have a standard deviation of 4/3 and probabilities differ. Then the forward
// pass: `out` and `lse` of the whole sequence.
void fill(Case& c) {
  const Sizes n(c);
  for (int r = 0; r < c.world(); ++r) {
    for (bf16& value : c.input<bf16>("q", r)) value = bf16(4 * static_cast<float>(value));
  }
  for (int r = 0; r < c.world(); ++r) {
    const bf16* q = c.input<bf16>("q", r).data();
    bf16* out = c.input<bf16>("out", r).data();
    float* lse = c.input<float>("lse", r).data();
    for (int64_t g = 0; g < n.kv_heads; ++g) {
      // Row i is the query of token i / share and head g * share + i % share.
      const auto head = [&](int64_t i) { return g * n.share + i % n.share; };
      const auto row = [&](int64_t i) { return (i / n.share * n.heads() + head(i)) * kDim; };
      attention::Attention a(n.local() * n.share, kDim, kDim, kScale,
                             [&](int64_t i, int64_t d) { return q[row(i) + d]; });
      for (int s = 0; s < c.world(); ++s) {
        const bf16 *k = c.input<bf16>("k", s).data(), *v = c.input<bf16>("v", s).data();
        a.add(
            n.local(), [&](int64_t j, int64_t d) { return k[(j * n.kv_heads + g) * kDim + d]; },
            [&](int64_t j, int64_t d) { return v[(j * n.kv_heads + g) * kDim + d]; },
            [&](int64_t i, int64_t j) { return n.position(s, j) <= n.position(r, i / n.share); });
      }
      for (int64_t i = 0; i < a.queries(); ++i) {
        lse[head(i) * n.local() + i / n.share] = static_cast<float>(a.log_sum(i));
        for (int64_t d = 0; d < kDim; ++d) out[row(i) + d] = bf16(static_cast<float>(a.value(i, d)));
      }
    }
  }
}

// Rows of 128 numbers in double.
class Rows {
 public:
  explicit Rows(std::span<const bf16> from) : numbers_(from.begin(), from.end()) {}
  const double* operator[](int64_t row) const { return &numbers_[static_cast<size_t>(row * kDim)]; }
  double norm(int64_t row) const { return std::sqrt(attention::dot(kVectors, (*this)[row], (*this)[row])); }

 private:
  std::vector<double> numbers_;
};

struct Query {
  const double *q, *dout;
  double q_norm, dout_norm, lse, delta, delta_error;
};
struct Key {
  const double *k, *v;
  double k_norm, v_norm;
};

// The tensors of a rank, in double.
class Shard {
 public:
  Shard(Case& c, const Sizes& n, int rank)
      : q_(c.input<bf16>("q", rank)),
        k_(c.input<bf16>("k", rank)),
        v_(c.input<bf16>("v", rank)),
        dout_(c.input<bf16>("dout", rank)) {
    const Rows out(c.input<bf16>("out", rank));
    const float* lse = c.input<float>("lse", rank).data();
    for (int64_t row = 0; row < n.local() * n.heads(); ++row) {
      const int64_t t = row / n.heads(), h = row % n.heads();
      const double norm = dout_.norm(row);
      queries_.push_back({q_[row], dout_[row], q_.norm(row), norm, lse[h * n.local() + t],
                          attention::dot(kVectors, dout_[row], out[row]), 2 * kDim * kFloat * norm * out.norm(row)});
    }
    for (int64_t row = 0; row < n.local() * n.kv_heads; ++row) {
      keys_.push_back({k_[row], v_[row], k_.norm(row), v_.norm(row)});
    }
  }
  const Query& query(int64_t row) const { return queries_[static_cast<size_t>(row)]; }
  const Key& key(int64_t row) const { return keys_[static_cast<size_t>(row)]; }

 private:
  Rows q_, k_, v_, dout_;
  std::vector<Query> queries_;
  std::vector<Key> keys_;
};

// What a query and a key that it sees have to do with each other, and how far each number may be off. All is computed
// in float, in any order, u = 2^-24; tensor cores cut off, which is 2 units for each addition.
// - A score is a sum of 128 products, and 4 roundings stand for factors (the scale, log2 e): by Cauchy and Schwarz it
//   is off by (2 * 128 + 4) u |q| |k| / sqrt(128).
// - The argument of the exponential is the difference of two such numbers, each with a factor and a rounding: 8 u
//   (|score| + |lse|). The exponential itself has 2^-22 and a rounding: 8 u (__expf, exp2f, ex2.approx).
// - The probability p has a relative error e that follows from these; before it is multiplied with dout it may be
//   rounded to bf16.
// - dout v and delta = dout out are sums of 128 products, off by 2 * 128 u of the norms' product. Their difference, its
//   product with p and the scale are 4 roundings. The result, ds, may be rounded to bf16.
struct Pair {
  double p, p_error, ds, ds_error;
  Pair(const Query& a, const Key& b) {
    const double score = kScale * attention::dot(kVectors, a.q, b.k), by_value = attention::dot(kVectors, a.dout, b.v);
    const double argument =
        kFloat * ((2 * kDim + 4) * kScale * a.q_norm * b.k_norm + 8 * (std::fabs(score) + std::fabs(a.lse)) + 8);
    const double e = argument / (1 - argument);
    p = std::exp(score - a.lse);
    p_error = p * (e + kBf16 * (1 + e));
    const double difference = by_value - a.delta;
    const double difference_error = 2 * kDim * kFloat * a.dout_norm * b.v_norm + a.delta_error;
    const double all = (1 + e) * (1 + 4 * kFloat) * (1 + 4 * kFloat) - 1;
    ds = kScale * p * difference;
    const double error = kScale * p * ((1 + all) * difference_error + all * std::fabs(difference));
    ds_error = error + kBf16 * (std::fabs(ds) + error);
  }
};

// A sum over pairs of weight * row.
class Gradient {
 public:
  void add(double weight, double error, const double* row) {
    attention::accumulate(kVectors, 1, weight, row, value_.data(), magnitude_.data());
    attention::accumulate(kVectors, 1, error, row, unused_.data(), error_.data());
    ++terms_;
  }
  int64_t terms() const { return terms_; }
  double value(int64_t d) const { return value_[static_cast<size_t>(d)]; }
  // Errors of the weights, and 2 units for each of the additions that a term may take part in.
  double bound(int64_t d, int64_t additions) const {
    const auto at = static_cast<size_t>(d);
    return error_[at] + growth(additions) * (magnitude_[at] + error_[at]);
  }
  static double growth(int64_t additions) {
    const double all = 2 * kFloat * static_cast<double>(additions);
    return all / (1 - all);
  }

 private:
  using Numbers = std::array<double, static_cast<size_t>(kDim)>;
  Numbers value_{}, magnitude_{}, error_{}, unused_{};
  int64_t terms_ = 0;
};

// `lse` and `out` are inputs: the gradients follow from them as they are.
void expect(Case& c) {
  const Sizes n(c);
  std::vector<Shard> shards;
  shards.reserve(static_cast<size_t>(n.world));
  for (int r = 0; r < c.world(); ++r) shards.emplace_back(c, n, r);
  const int64_t queries = n.local() * n.heads(), keys = n.local() * n.kv_heads;
  // Of large sizes some queries and keys of each rank are looked at.
  const int64_t most = queries * n.world * n.local() < 1 << 14 ? queries : 8;
  for (int r = 0; r < c.world(); ++r) {
    const Shard& mine = shards[static_cast<size_t>(r)];
    Output dq = c.output("dq", r), dk = c.output("dk", r), dv = c.output("dv", r);
    for (int64_t i = 0; i < dq.size(); ++i) dq.ignore(i);
    for (int64_t i = 0; i < dk.size(); ++i) {
      dk.ignore(i);
      dv.ignore(i);
    }

    for (const int64_t row : draw(c.random, queries, std::min(queries, most))) {
      const int64_t t = row / n.heads(), g = row % n.heads() / n.share;
      Gradient by_query;
      for (int64_t s = 0; s < n.world; ++s) {
        for (int64_t j = 0; j < n.local(); ++j) {
          if (n.position(s, j) > n.position(r, t)) continue;
          const Key& key = shards[static_cast<size_t>(s)].key(j * n.kv_heads + g);
          const Pair pair(mine.query(row), key);
          by_query.add(pair.ds, pair.ds_error, key.k);
        }
      }
      for (int64_t d = 0; d < kDim; ++d)
        dq.set(row * kDim + d, by_query.value(d), by_query.bound(d, by_query.terms() + n.world));
    }

    for (const int64_t row : draw(c.random, keys, std::min(keys, most))) {
      const int64_t j = row / n.kv_heads, g = row % n.kv_heads;
      std::vector<Gradient> by_key(static_cast<size_t>(n.world)), by_value(by_key.size());  // parts of each rank
      int64_t additions = n.world;
      for (int64_t s = 0; s < n.world; ++s) {
        const auto at = static_cast<size_t>(s);
        for (int64_t t = 0; t < n.local(); ++t) {
          if (n.position(r, j) > n.position(s, t)) continue;
          for (int64_t h = g * n.share; h < (g + 1) * n.share; ++h) {
            const Query& query = shards[at].query(t * n.heads() + h);
            const Pair pair(query, mine.key(row));
            by_key[at].add(pair.ds, pair.ds_error, query.q);
            by_value[at].add(pair.p, pair.p_error, query.dout);
          }
        }
        additions += by_key[at].terms();
      }
      // A rank's part may be rounded to bf16 before it is added.
      const auto set = [&](Output& out, const std::vector<Gradient>& parts, int64_t d) {
        double value = 0, bound = 0;
        for (const Gradient& part : parts) {
          const double error = part.bound(d, additions);
          value += part.value(d);
          bound += error + (1 + Gradient::growth(n.world)) * kBf16 * (std::fabs(part.value(d)) + error);
        }
        out.set(row * kDim + d, value, bound);
      };
      for (int64_t d = 0; d < kDim; ++d) {
        set(dk, by_key, d);
        set(dv, by_value, d);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
