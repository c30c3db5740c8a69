#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32), kHalf = unit_roundoff(DType::bf16);

// The ranks of a replica have the same tokens. W1 and W2 are scaled by a power of two next to 4 / sqrt(hidden), so that
// the arguments of silu are around 1: it is bent there.
void fill(Case& c) {
  const int64_t tp = c["tp"], hidden = c.world() / tp * c["width"];
  const auto scale = static_cast<float>(std::exp2(std::round(std::log2(4 / std::sqrt(static_cast<double>(hidden))))));
  for (int r = 0; r < c.world(); ++r) {
    if (r % tp != 0) {
      const auto from = c.input<bf16>("x", r - static_cast<int>(r % tp)), to = c.input<bf16>("x", r);
      for (size_t i = 0; i < to.size(); ++i) to[i] = from[i];
    }
    for (const char* name : {"w1", "w2"}) {
      for (bf16& w : c.input<bf16>(name, r)) w = bf16(static_cast<float>(w) * scale);
    }
  }
}

// How far bf16(silu(u) * v) may be off, if u and v are off by du and dv. The slope of silu is at most 1.1 in modulus.
// In float, exp(-u) has a relative error of at most (2 |u| + 8) units: the rounding of u / ln 2 and of the exponent's
// function (__expf). That of the sum with 1 and of the quotient (3 units each, __fdividef), and of the product, come
// on top.
struct Gated {
  double value, error;
  Gated(double u, double du, double v, double dv) {
    const double silu = u / (1 + std::exp(-u));
    const double dsilu = 1.1 * du + (std::fabs(silu) + 1.1 * du) * (2 * (std::fabs(u) + du) + 16) * kFloat;
    value = silu * v;
    error = std::fabs(silu) * dv + dsilu * (std::fabs(v) + dv);
    error += (std::fabs(value) + error) * kHalf;
  }
};

// Errors are followed through both products; sums in float have the bounds of Product. The partial sum of each
// tensor-parallel rank may be rounded to bf16 before they are added.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], width = c["width"], neurons = c["neurons"], tp = c["tp"];
  const int64_t replicas = c.world() / tp, hidden = replicas * width, rows = replicas * tokens;
  std::vector<const bf16*> x;
  for (int64_t f = 0; f < replicas; ++f) x.push_back(c.input<bf16>("x", static_cast<int>(f * tp)).data());

  std::vector<double> values(static_cast<size_t>(rows * hidden)), bounds(values.size());
  for (int64_t t = 0; t < tp; ++t) {
    Product u(rows, neurons), v(rows, neurons);
    for (int64_t f = 0; f < replicas; ++f) {
      const int rank = static_cast<int>(f * tp + t);
      const bf16 *w1 = c.input<bf16>("w1", rank).data(), *w2 = c.input<bf16>("w2", rank).data();
      const auto left = [&](int64_t i, int64_t k) { return x[i / tokens][i % tokens * hidden + f * width + k]; };
      u.add(width, left, [&](int64_t k, int64_t n) { return w1[k * neurons + n]; });
      v.add(width, left, [&](int64_t k, int64_t n) { return w2[k * neurons + n]; });
    }
    std::vector<double> h(static_cast<size_t>(rows * neurons)), error(h.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t n = 0; n < neurons; ++n) {
        const Gated gated(u.value(i, n), u.bound(i, n), v.value(i, n), v.bound(i, n));
        h[i * neurons + n] = gated.value;
        error[i * neurons + n] = gated.error;
      }
    }
    for (int64_t f = 0; f < replicas; ++f) {
      const bf16* w3 = c.input<bf16>("w3", static_cast<int>(f * tp + t)).data();
      Product y(rows, width), off(rows, width);
      y.add(
          neurons, [&](int64_t i, int64_t n) { return h[i * neurons + n]; },
          [&](int64_t n, int64_t k) { return w3[k * neurons + n]; });
      off.add(
          neurons, [&](int64_t i, int64_t n) { return error[i * neurons + n]; },
          [&](int64_t n, int64_t k) { return w3[k * neurons + n]; });
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < width; ++k) {
          // The factors h are off as well; that their errors are summed in float adds a term of second order.
          const double bound = y.bound(i, k) + off.magnitude(i, k) + off.bound(i, k);
          const auto at = static_cast<size_t>(i * hidden + f * width + k);
          values[at] += y.value(i, k);
          bounds[at] += bound + (std::fabs(y.value(i, k)) + bound) * (kHalf + static_cast<double>(tp) * kFloat);
        }
      }
    }
  }
  for (int r = 0; r < c.world(); ++r) {
    Output y = c.output("y", r);
    const int64_t first = r / tp * tokens * hidden;
    for (int64_t i = 0; i < tokens * hidden; ++i) {
      const auto at = static_cast<size_t>(first + i);
      y.set(i, values[at], bounds[at]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
