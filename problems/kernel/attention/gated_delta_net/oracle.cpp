#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32), kHalf = unit_roundoff(DType::bf16);
constexpr double kEpsilon = 1e-6;
constexpr int64_t kDrawnTokens = 12, kDrawnColumns = 16;  // of each head, drawn anew for every call

// Rates of decay as models begin their training: exp(a_log) is 1 to 16, softplus(dt_bias) 0.001 to 0.1. Some heads
// forget within a token, some remember all. One key in six is that of an earlier token, so that what was written with
// it is replaced; one in six is so small that epsilon counts, and one query.
void fill(Case& c) {
  const auto a_log = c.input<float>("a_log", 0), dt_bias = c.input<float>("dt_bias", 0);
  for (size_t h = 0; h < a_log.size(); ++h) {
    a_log[h] = static_cast<float>(std::log(c.random.between(1, 16)));
    dt_bias[h] = static_cast<float>(std::log(std::expm1(std::exp(c.random.between(std::log(0.001), std::log(0.1))))));
  }
  const int64_t tokens = c["tokens"], heads = c.world() * c["heads"], dim = c["key_dim"];
  for (int64_t t = 0; t < c.world() * tokens; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      const auto row = [&](const char* name, int64_t token) {
        return c.input<bf16>(name, static_cast<int>(token / tokens)).subspan((token % tokens * heads + h) * dim, dim);
      };
      const int64_t kind = c.random.below(6);
      if (kind == 0 && t > 0) {
        const auto from = row("k", c.random.below(t)), to = row("k", t);
        std::copy(from.begin(), from.end(), to.begin());
      } else if (kind < 3) {
        const float scale = std::ldexp(1.0F, -static_cast<int>(10 + c.random.below(6)));
        for (bf16& x : row(kind == 1 ? "k" : "q", t)) x = bf16(scale * static_cast<float>(x));
      }
    }
  }
}

// Of one head of values, with k and q of length at most 1 (q times 1 / sqrt(key_dim)), decays d and strengths b:
//
//   S'_t = d_t S_t-1,  w_t = b_t (v_t - k_t S'_t),  S_t = S'_t + k_t w_t,  o_t = q_t S_t
//
// So S_t = d_t (1 - b_t k_t k_t^T) S_t-1 + b_t k_t v_t, and the matrix in it shrinks: errors never grow. What an error
// of the state at token s is to o_t is y_ts: y_tt = q_t, y_t,s-1 = d_s (1 - b_s k_s k_s^T) y_ts. An error of w_s counts
// g_ts = y_ts k_s times. The bound has two parts.
//
// Float, for the worst case. Sums are over key_dim or, where scores of pairs of tokens are formed, over the tokens, in
// any order, with 2 units for an addition on tensor cores; lengths, decays and strengths have some units more. So a
// product of k_t or q_t and the state is off by e = (2 (key_dim + tokens) + 64) u of sum over s <= t of (decay from s
// to t) |w_s|, here m_t, which is no less than the length of the state's column; and a write by e (|w_t| + |b_t v_t|).
// A decay is exp of a logarithm, or of a difference of prefix sums of logarithms, of size at most L over the whole
// sequence: a tree of 12 additions makes that 12 L u.
//
// bf16, statistically. Factors of products may be rounded to bf16, once each: k, q and the state where they are
// multiplied, and w. With errors that are independent of each other, have mean 0 and are at most r = 2^-8 of a number,
// by Hoeffding their sum exceeds 6 times the root of the sum of their squares with a probability below 2 exp(-36 / 2) =
// 3e-8, if all were as large as they can be; in the mean their squares are a sixth of that, which makes it 14 standard
// deviations. The squares, over r^2, of one column:
//
//   2 sum over i of (q_t S_t)_i^2                                   q and S in o_t
//   g_ts^2 b_s^2 2 sum over i of (k_s S'_s)_i^2                     k and S' in w_s
//   g_ts^2 (w_s^2 + (b_s v_s)^2)                                    w_s, or b_s v_s
//   w_s^2 sum over i of (k_s y_ts)_i^2                              k where it is written
//
// for all s <= t. Algorithms by chunks round other factors, scores and inverted triangles among them, of the same
// sizes, and each number passes through at most two such products on its way: squares count twice.
struct Token {
  std::vector<double> q, k;
  double decay = 0, log_decay = 0, strength = 0;
};

static void scan(Case& c, int64_t head, const std::vector<Token>& tokens, const std::vector<int64_t>& drawn,
                 const std::vector<int64_t>& columns) {
  const auto all = static_cast<int64_t>(tokens.size()), each = c["tokens"], values = c["value_dim"];
  const auto dim = static_cast<int64_t>(tokens[0].q.size());
  const int64_t heads = c.world() * c["heads"] * c["share"];
  const size_t width = columns.size();
  double logs = 0;
  for (const Token& t : tokens) logs += std::fabs(t.log_decay);
  const double e = (2 * static_cast<double>(dim + all) + 64) * kFloat, of_decay = e + 12 * logs * kFloat;

  std::vector<double> state(static_cast<size_t>(dim) * width), sizes(width);
  struct Column {
    double w, written, size, seen;  // w_t, b_t v_t, m_t before token t, and sum of (k_t S'_t)_i^2
  };
  std::vector<Column> history;
  std::vector<double> dots(width), squares(width);
  size_t next = 0;
  for (int64_t t = 0; t < all; ++t) {
    const Token& token = tokens[static_cast<size_t>(t)];
    const int owner = static_cast<int>(t / each);
    const bf16* v = c.input<bf16>("v", owner).data() + (t % each * heads + head) * values;
    std::fill(dots.begin(), dots.end(), 0);
    std::fill(squares.begin(), squares.end(), 0);
    for (size_t i = 0; i < static_cast<size_t>(dim); ++i) {
      for (size_t j = 0; j < width; ++j) {
        double& s = state[i * width + j];
        s *= token.decay;
        const double product = token.k[i] * s;
        dots[j] += product;
        squares[j] += product * product;
      }
    }
    Column* at = &*history.insert(history.end(), width, Column{});
    for (size_t j = 0; j < width; ++j) {
      sizes[j] *= token.decay;
      const double value = token.strength * static_cast<double>(static_cast<float>(v[columns[j]]));
      at[j] = {value - token.strength * dots[j], value, sizes[j], squares[j]};
      sizes[j] += std::fabs(at[j].w);
    }
    for (size_t i = 0; i < static_cast<size_t>(dim); ++i) {
      for (size_t j = 0; j < width; ++j) state[i * width + j] += token.k[i] * at[j].w;
    }
    if (next == drawn.size() || drawn[next] != t) continue;
    ++next;

    std::vector<double> y = token.q, result(width), variance(width), error(width);
    const auto norm = [&] {
      double sum = 0;
      for (const double x : y) sum += x * x;
      return std::sqrt(sum);
    };
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t j = 0; j < width; ++j) {
        const double product = y[i] * state[i * width + j];
        result[j] += product;
        variance[j] += 2 * product * product;
      }
    }
    double length = norm();
    for (size_t j = 0; j < width; ++j) error[j] = e * length * sizes[j];
    for (int64_t s = t; s >= 0; --s) {
      const Token& past = tokens[static_cast<size_t>(s)];
      const Column* column = &history[static_cast<size_t>(s) * width];
      double g = 0, h = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        const double product = y[i] * past.k[i];
        g += product;
        h += product * product;
      }
      for (size_t j = 0; j < width; ++j) {
        const Column& x = column[j];
        error[j] += length * (of_decay * x.size + e * (std::fabs(x.w) + std::fabs(x.written)));
        variance[j] +=
            g * g * (2 * past.strength * past.strength * x.seen + x.w * x.w + x.written * x.written) + x.w * x.w * h;
      }
      for (size_t i = 0; i < y.size(); ++i) y[i] = past.decay * (y[i] - past.strength * g * past.k[i]);
      length = norm();
      if (length < 1e-30) break;  // nothing is left of earlier tokens
    }
    Output out = c.output("out", owner);
    for (size_t j = 0; j < width; ++j) {
      out.set((t % each * heads + head) * values + columns[j], result[j],
              error[j] + 6 * kHalf * std::sqrt(2 * variance[j]));
    }
  }
}

void expect(Case& c) {
  const int64_t each = c["tokens"], share = c["share"], dim = c["key_dim"], values = c["value_dim"];
  const int64_t key_heads = c.world() * c["heads"], heads = key_heads * share, all = c.world() * each;
  const bool part = all * heads * dim * values > 1 << 22;
  if (part) {
    for (int r = 0; r < c.world(); ++r) {
      Output out = c.output("out", r);
      for (int64_t i = 0; i < out.size(); ++i) out.ignore(i);
    }
  }
  const auto a_log = c.input<float>("a_log", 0), dt_bias = c.input<float>("dt_bias", 0);
  std::vector<Token> tokens(static_cast<size_t>(all));
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t t = 0; t < all; ++t) {
      const int owner = static_cast<int>(t / each);
      const auto unit = [&](const char* name, double scale) {
        const auto row =
            c.input<bf16>(name, owner).subspan(static_cast<size_t>((t % each * key_heads + h / share) * dim), dim);
        double sum = kEpsilon;
        for (const float x : row) sum += double{x} * x;
        std::vector<double> result;
        for (const float x : row) result.push_back(x * scale / std::sqrt(sum));
        return result;
      };
      const auto at = static_cast<size_t>(t % each * heads + h), n = static_cast<size_t>(h);
      const double a = static_cast<float>(c.input<bf16>("a", owner)[at]),
                   b = static_cast<float>(c.input<bf16>("b", owner)[at]);
      const double log_decay = -std::exp(double{a_log[n]}) * std::log1p(std::exp(a + dt_bias[n]));
      tokens[static_cast<size_t>(t)] = {unit("q", 1 / std::sqrt(static_cast<double>(dim))), unit("k", 1),
                                        std::exp(log_decay), log_decay, 1 / (1 + std::exp(-b))};
    }
    scan(c, h, tokens, draw(c.random, all, part ? std::min(all, kDrawnTokens) : all),
         draw(c.random, values, part ? std::min(values, kDrawnColumns) : values));
  }
}

FABRICBENCH_ORACLE(expect, fill)
