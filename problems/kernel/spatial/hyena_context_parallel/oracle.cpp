#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

// Filters of different channels fall off differently: by a factor of 1 to 16 from the first tap to the last.
void fill(Case& c) {
  const int64_t channels = c["channels"], taps = c["taps"];
  for (int r = 0; r < c.world(); ++r) {
    float* h = c.input<float>("h", r).data();
    for (int64_t d = 0; d < channels; ++d) {
      const double rate = c.random.between(0, 4) / static_cast<double>(taps);
      for (int64_t k = 0; k < taps; ++k) {
        float& tap = h[d * taps + k];
        tap = static_cast<float>(tap * std::exp2(-rate * static_cast<double>(k)));
      }
    }
  }
}

// Z is a product of two bf16 numbers, exact in float, and may be rounded to bf16: an error of kBf16 of each term of U,
// so of M, the sum of the terms' magnitudes. The n terms of U (the bias is one) are rounded products in n - 1 additions
// in any order, and the bias may be added to the first tap: at most n + 1 roundings in float of each. (1 + f)^(n + 1) -
// 1 is at most 1.01 (n + 1) f, and with the factor of the rounding of Z at most 1.01 (n + 3) f.
//
// A transform of length N has a relative error of at most 7 f log2(N) in the Euclidean norm (Higham, Accuracy and
// Stability of Numerical Algorithms, 24.1, with exact enough roots of unity); a convolution has three of them and a
// product between, and no element is off by more than the norm: 24 f log2(N) of the product of the norms. N is twice
// the sequence.
//
// U may be rounded to bf16. The product with x1 is rounded once in float; Output::set adds the rounding to bf16.
void expect(Case& c) {
  constexpr double kBf16 = unit_roundoff(DType::bf16), kFloat = unit_roundoff(DType::f32);
  const int64_t world = c.world(), chunk = c["chunk"], channels = c["channels"], taps = c["taps"];
  const int64_t all = world * channels, tokens = 2 * world * chunk;
  const double steps = 24 * std::log2(2 * static_cast<double>(tokens)) * kFloat;

  // Filters by taps, the bias added to the first one; magnitudes of both.
  const int64_t used = std::min(taps, tokens);
  std::vector<double> filters(static_cast<size_t>(used * all)), sizes(filters.size()), norms(static_cast<size_t>(all));
  for (int64_t d = 0; d < all; ++d) {
    const auto owner = static_cast<int>(d / channels);
    const float* h = c.input<float>("h", owner).data() + d % channels * taps;
    const double bias = c.input<float>("bias", owner)[static_cast<size_t>(d % channels)];
    double squares = bias * bias;
    for (int64_t k = 0; k < used; ++k) {
      const double tap = h[k];
      squares += tap * tap;
      filters[static_cast<size_t>(k * all + d)] = tap + (k == 0 ? bias : 0);
      sizes[static_cast<size_t>(k * all + d)] = std::fabs(tap) + (k == 0 ? std::fabs(bias) : 0);
    }
    norms[static_cast<size_t>(d)] = std::sqrt(squares);
  }

  const auto rank_of = [&](int64_t number) {
    return static_cast<int>(number < world ? number : 2 * world - 1 - number);
  };
  const auto row_of = [&](int64_t t) { return (t / chunk < world ? 0 : chunk) + t % chunk; };  // on its rank
  std::vector<double> z(static_cast<size_t>(tokens * all)), squares(static_cast<size_t>(all));
  for (int64_t t = 0; t < tokens; ++t) {
    const bf16* x2 = c.input<bf16>("x2", rank_of(t / chunk)).data() + row_of(t) * all;
    const bf16* v = c.input<bf16>("v", rank_of(t / chunk)).data() + row_of(t) * all;
    for (int64_t d = 0; d < all; ++d) {
      const double product = static_cast<double>(x2[d]) * static_cast<double>(v[d]);
      z[static_cast<size_t>(t * all + d)] = product;
      squares[static_cast<size_t>(d)] += product * product;
    }
  }
  for (int64_t d = 0; d < all; ++d) norms[static_cast<size_t>(d)] *= std::sqrt(squares[static_cast<size_t>(d)]);

  std::vector<double> sums(static_cast<size_t>(all)), magnitudes(sums.size());
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t count = std::min(taps, t + 1);
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(magnitudes.begin(), magnitudes.end(), 0);
    for (int64_t k = 0; k < count; ++k) {
      const double *by = &filters[static_cast<size_t>(k * all)], *size = &sizes[static_cast<size_t>(k * all)],
                   *from = &z[static_cast<size_t>((t - k) * all)];
      double *sum = sums.data(), *magnitude = magnitudes.data();
      for (int64_t d = 0; d < all; ++d) {
        sum[d] += by[d] * from[d];
        magnitude[d] += size[d] * std::fabs(from[d]);
      }
    }
    const bf16* x1 = c.input<bf16>("x1", rank_of(t / chunk)).data() + row_of(t) * all;
    Output y = c.output("y", rank_of(t / chunk));
    const double error_of_terms = kBf16 + 1.01 * static_cast<double>(count + 4) * kFloat;  // count taps and the bias
    for (int64_t d = 0; d < all; ++d) {
      const auto at = static_cast<size_t>(d);
      double error = magnitudes[at] * error_of_terms + steps * norms[at];
      error += kBf16 * (std::fabs(sums[at]) + error);
      error += kFloat * (std::fabs(sums[at]) + error);
      const double gate = x1[d];
      y.set(row_of(t) * all + d, gate * sums[at], std::fabs(gate) * error);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
