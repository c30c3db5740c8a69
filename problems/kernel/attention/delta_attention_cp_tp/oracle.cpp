#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32), kHalf = unit_roundoff(DType::bf16);
constexpr double kEpsilon = 1e-6;
constexpr int64_t kDrawn = 6;  // tokens of a place that are compared where there are many, drawn anew for every call

// Slopes are 1 to 4 and biases -6 to -0.5, while gates are spread over 16 to either side: with most tokens a channel
// loses some per cent or less, with some nearly all. One key in six is that of an earlier token, so that what was
// written with it is replaced; one in six is so small that epsilon counts, and one query. Ranks with the same heads
// have the same parameters.
void fill(Case& c) {
  const int tp = static_cast<int>(c["tp"]);
  const int64_t tokens = c["tokens"], heads = c["heads"], dim = c["key_dim"], places = c.world() / tp;
  for (int r = 0; r < c.world(); ++r) {
    const auto a_log = c.input<float>("a_log", r), dt_bias = c.input<float>("dt_bias", r);
    const auto weight = c.input<bf16>("weight", r);
    if (r >= tp) {
      std::ranges::copy(c.input<float>("a_log", r % tp), a_log.begin());
      std::ranges::copy(c.input<float>("dt_bias", r % tp), dt_bias.begin());
      std::ranges::copy(c.input<bf16>("weight", r % tp), weight.begin());
      continue;
    }
    for (float& x : a_log) x = static_cast<float>(std::log(c.random.between(1, 4)));
    for (float& x : dt_bias) x = static_cast<float>(c.random.between(-6, -0.5));
  }
  for (int u = 0; u < tp; ++u) {
    for (int64_t t = 0; t < places * tokens; ++t) {
      for (int64_t h = 0; h < heads; ++h) {
        const auto row = [&](const char* name, int64_t token) {
          return c.input<bf16>(name, static_cast<int>(token / tokens * tp + u))
              .subspan(static_cast<size_t>((token % tokens * heads + h) * dim), static_cast<size_t>(dim));
        };
        const int64_t kind = c.random.below(6);
        if (kind == 0 && t > 0) {
          std::ranges::copy(row("k", c.random.below(t)), row("k", t).begin());
        } else if (kind == 1 || kind == 2) {
          const float scale = std::ldexp(1.0F, -static_cast<int>(10 + c.random.below(6)));
          for (bf16& x : row(kind == 1 ? "k" : "q", t)) x = bf16(scale * static_cast<float>(x));
        }
      }
    }
  }
}

struct Token {
  std::vector<double> q, k, decay;
  double strength = 0, slowest = 0;  // the largest of the decays
};

// What queries read at the drawn tokens, and the squares of its errors, [drawn token][column].
struct Reads {
  std::vector<double> values, squares;
};

// Of one head, with k and q of length at most 1 (q times 1 / sqrt(key_dim)), decays d of channels and strengths b:
//
//   S'_t = d_t S_t-1,  w_t = b_t (v_t - k_t S'_t),  S_t = S'_t + k_t w_t,  o_t = q_t S_t
//
// So S_t = (1 - b_t k_t k_t^T) diag(d_t) S_t-1 + b_t k_t v_t, and the matrix in it shrinks: errors never grow. What an
// error of the state at token s is to o_t is y_ts: y_tt = q_t, y_t,s-1 = d_s (1 - b_s k_s k_s^T) y_ts. An error of w_s
// counts g_ts = y_ts k_s times. The error of o_t has two parts.
//
// Float, for the worst case. Sums are over key_dim or, where scores of pairs of tokens are formed, over the tokens, in
// any order, with 2 units for an addition on tensor cores; lengths, decays and strengths have some units more. So a
// product of k_t or q_t and the state is off by e = (2 (key_dim + tokens) + 64) u of sum over s <= t of (the slowest
// decay from s to t) |w_s|, here m_t; and a write by e (|w_t| + |b_t v_t|). A decay is exp of a logarithm, or of a
// difference of prefix sums of logarithms: with L_i for the sum of a channel over the whole sequence, and a tree of 12
// additions, channel i is off by 12 L_i u in each step, and the result by at most the length of y_ts with these factors
// times the length of the state's column.
//
// bf16. Factors of products may be rounded to bf16, once each: k, q and the state where they are multiplied, and w.
// Their errors are at most r = 2^-8 of a number. The squares, over r^2, of one column:
//
//   2 sum over i of (q_t S_t)_i^2                                   q and S in o_t
//   g_ts^2 b_s^2 2 sum over i of (k_s S'_s)_i^2                     k and S' in w_s
//   g_ts^2 (w_s^2 + (b_s v_s)^2)                                    w_s, or b_s v_s
//   w_s^2 sum over i of (k_s y_ts)_i^2                              k where it is written
//
// for all s <= t. Algorithms by chunks round other factors, scores and inverted triangles among them, of the same
// sizes, and each number passes through at most two such products on its way: squares count twice. o_t itself is
// rounded once more.
static Reads scan(const std::vector<Token>& tokens, const std::vector<const bf16*>& values, int64_t columns,
                  const std::vector<int64_t>& drawn) {
  const auto width = static_cast<size_t>(columns), dim = tokens[0].q.size(), all = tokens.size();
  std::vector<double> of_decay(dim);
  for (const Token& t : tokens) {
    for (size_t i = 0; i < dim; ++i) of_decay[i] -= 12 * kFloat * std::log(t.decay[i]);
  }
  const double e = (2 * static_cast<double>(dim + all) + 64) * kFloat;

  struct Column {
    double w, written, size, seen, length;  // w_t, b_t v_t, m_t before t, sum of (k_t S'_t)_i^2, length of S'_t
  };
  Reads reads;
  std::vector<double> state(dim * width), sizes(width), dots(width), products(width), lengths(width);
  std::vector<Column> history(all * width);
  size_t next = 0;
  for (size_t t = 0; t < all && next < drawn.size(); ++t) {
    const Token& token = tokens[t];
    std::ranges::fill(dots, 0);
    std::ranges::fill(products, 0);
    std::ranges::fill(lengths, 0);
    for (size_t i = 0; i < dim; ++i) {
      const double k = token.k[i], decay = token.decay[i];
      double* row = &state[i * width];
      for (size_t j = 0; j < width; ++j) {
        const double s = row[j] * decay, product = k * s;
        row[j] = s;
        dots[j] += product;
        products[j] += product * product;
        lengths[j] += s * s;
      }
    }
    Column* at = &history[t * width];
    for (size_t j = 0; j < width; ++j) {
      const double value = token.strength * static_cast<double>(static_cast<float>(values[t][j]));
      at[j] = {value - token.strength * dots[j], value, sizes[j] * token.slowest, products[j], std::sqrt(lengths[j])};
      sizes[j] = at[j].size + std::fabs(at[j].w);
      dots[j] = at[j].w;
    }
    for (size_t i = 0; i < dim; ++i) {
      const double k = token.k[i];
      double* row = &state[i * width];
      for (size_t j = 0; j < width; ++j) row[j] += k * dots[j];
    }
    if (drawn[next] != static_cast<int64_t>(t)) continue;
    ++next;

    std::vector<double> y = token.q, result(width), variance(width), error(width);
    double length = 0, with_decays = 0;
    const auto measure = [&] {
      length = with_decays = 0;
      for (size_t i = 0; i < dim; ++i) {
        length += y[i] * y[i];
        with_decays += y[i] * y[i] * of_decay[i] * of_decay[i];
      }
      length = std::sqrt(length);
      with_decays = std::sqrt(with_decays);
    };
    for (size_t i = 0; i < dim; ++i) {
      for (size_t j = 0; j < width; ++j) {
        const double product = y[i] * state[i * width + j];
        result[j] += product;
        variance[j] += 2 * product * product;
      }
    }
    measure();
    for (size_t j = 0; j < width; ++j) error[j] = e * length * sizes[j];
    for (size_t s = t + 1; s-- > 0;) {
      const Token& past = tokens[s];
      double g = 0, h = 0;
      for (size_t i = 0; i < dim; ++i) {
        const double product = y[i] * past.k[i];
        g += product;
        h += product * product;
      }
      for (size_t j = 0; j < width; ++j) {
        const Column& x = history[s * width + j];
        error[j] += length * e * (x.size + std::fabs(x.w) + std::fabs(x.written)) + with_decays * x.length;
        variance[j] +=
            g * g * (2 * past.strength * past.strength * x.seen + x.w * x.w + x.written * x.written) + x.w * x.w * h;
      }
      for (size_t i = 0; i < dim; ++i) y[i] = past.decay[i] * (y[i] - past.strength * g * past.k[i]);
      measure();
      if (length < 1e-30) break;  // nothing is left of earlier tokens
    }
    for (size_t j = 0; j < width; ++j) {
      const double rounding = kHalf * result[j];
      reads.values.push_back(result[j]);
      reads.squares.push_back(2 * kHalf * kHalf * variance[j] + error[j] * error[j] + rounding * rounding);
    }
  }
  return reads;
}

// A number of the result is a sum of o over heads and columns with random weights, so that errors that columns share
// are independent in it, too. If all errors have mean 0, then by Hoeffding the sum exceeds 7 times the root of the sum
// of the squares of what each can be at most with a probability below 2 exp(-49 / 2) = 5e-11. The worst case would be
// larger than most results.
//
// The product itself is a sum in float: 2 units for each addition. The part of each rank of the group may be rounded to
// bf16, and their sum in bf16 rounds in each of tp - 1 additions.
void expect(Case& c) {
  const int64_t each = c["tokens"], heads = c["heads"], dim = c["key_dim"], columns = c["value_dim"];
  const int64_t hidden = c["hidden"], tp = c["tp"], places = c.world() / tp, all = places * each,
                depth = heads * columns;
  std::vector<int64_t> drawn;  // tokens of the sequence
  for (int64_t place = 0; place < places; ++place) {
    for (const int64_t t : draw(c.random, each, std::min(each, kDrawn))) drawn.push_back(place * each + t);
  }
  const auto count = static_cast<int64_t>(drawn.size());
  Product sums(count, hidden), squares(count, hidden);
  std::vector<double> others(static_cast<size_t>(count * hidden));
  for (int64_t u = 0; u < tp; ++u) {
    std::vector<double> context(static_cast<size_t>(count * depth)), errors(context.size());
    const auto a_log = c.input<float>("a_log", static_cast<int>(u));
    const auto dt_bias = c.input<float>("dt_bias", static_cast<int>(u));
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<Token> tokens;
      std::vector<const bf16*> values;
      for (int64_t t = 0; t < all; ++t) {
        const int owner = static_cast<int>(t / each * tp + u);
        const int64_t row = t % each * heads + h;
        const auto unit = [&](const char* name, double scale) {
          const bf16* from = c.input<bf16>(name, owner).data() + row * dim;
          double sum = kEpsilon;
          for (int64_t i = 0; i < dim; ++i) sum += double{static_cast<float>(from[i])} * static_cast<float>(from[i]);
          std::vector<double> result;
          for (int64_t i = 0; i < dim; ++i) result.push_back(static_cast<float>(from[i]) * scale / std::sqrt(sum));
          return result;
        };
        Token token;
        token.q = unit("q", 1 / std::sqrt(static_cast<double>(dim)));
        token.k = unit("k", 1);
        const bf16* g = c.input<bf16>("g", owner).data() + row * dim;
        const double slope = std::exp(double{a_log[static_cast<size_t>(h)]});
        for (int64_t i = 0; i < dim; ++i) {
          const double x = slope * (static_cast<float>(g[i]) + double{dt_bias[static_cast<size_t>(h * dim + i)]});
          token.decay.push_back(std::exp(-5 / (1 + std::exp(-x))));
        }
        token.slowest = *std::ranges::max_element(token.decay);
        token.strength = 1 / (1 + std::exp(-static_cast<float>(c.input<bf16>("b", owner)[static_cast<size_t>(row)])));
        tokens.push_back(std::move(token));
        values.push_back(c.input<bf16>("v", owner).data() + row * columns);
      }
      const Reads reads = scan(tokens, values, columns, drawn);
      for (int64_t i = 0; i < count * columns; ++i) {
        const auto at = static_cast<size_t>(i / columns * depth + h * columns + i % columns);
        context[at] = reads.values[static_cast<size_t>(i)];
        errors[at] = reads.squares[static_cast<size_t>(i)];
      }
    }
    const bf16* weight = c.input<bf16>("weight", static_cast<int>(u)).data();
    const auto right = [&](int64_t l, int64_t j) { return static_cast<float>(weight[j * depth + l]); };
    Product part(count, hidden);
    const auto left = [&](int64_t i, int64_t l) { return context[static_cast<size_t>(i * depth + l)]; };
    part.add(depth, left, right);
    sums.add(depth, left, right);
    squares.add(
        depth, [&](int64_t i, int64_t l) { return errors[static_cast<size_t>(i * depth + l)]; },
        [&](int64_t l, int64_t j) { return right(l, j) * right(l, j); });
    for (int64_t i = 0; i < count * hidden; ++i) {
      others[static_cast<size_t>(i)] += part.bound(i / hidden, i % hidden) +
                                        kHalf * static_cast<double>(tp) * std::fabs(part.value(i / hidden, i % hidden));
    }
  }
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    for (int64_t i = 0; i < out.size(); ++i) out.ignore(i);
    for (int64_t i = 0; i < count; ++i) {
      if (drawn[static_cast<size_t>(i)] / each != r / tp) continue;
      for (int64_t j = 0; j < hidden; ++j) {
        const double bound = 7 * std::sqrt(squares.value(i, j)) + others[static_cast<size_t>(i * hidden + j)];
        out.set(drawn[static_cast<size_t>(i)] % each * hidden + j, sums.value(i, j), bound * (1 + 0x1p-6));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
