#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kHalf = unit_roundoff(DType::bf16), kFloat = unit_roundoff(DType::f32);

// The first products shall be a few units, so that the bend of silu counts. Numbers of fill `spread` have a mean square
// of 23, and so products of two and their sum over `hidden` terms are of the size 23 * sqrt(hidden): the first weight
// is divided by a power of two that is about half as large.
//
// A sum of n terms of one size is about as large as sqrt(n) of them, and its bound grows with n. So that bounds stay
// far below the sums, 15 of 16 numbers of the second weight, drawn at random, are divided by 64.
void fill(Case& c) {
  const double size = 23 * std::sqrt(static_cast<double>(c["hidden"]));
  const auto scale = static_cast<float>(std::exp2(-std::round(std::log2(size / 2))));
  for (int r = 0; r < c.world(); ++r) {
    for (bf16& value : c.input<bf16>("up", r)) value = bf16(static_cast<float>(value) * scale);
    uint64_t bits = 0;  // four for each number; the highest one is set, so that they are 0 when all are used
    for (bf16& value : c.input<bf16>("down", r)) {
      if (bits == 0) bits = c.random.bits() | uint64_t{1} << 63;
      if (bits % 16 != 0) value = bf16(static_cast<float>(value) * 0x1p-6F);
      bits >>= 4;
    }
  }
}

// The error of activation h = silu(s) in bf16. s is a sum in f32, off by `error`, and may be rounded to bf16. The slope
// of silu is less than 1.1. In f32 it takes an exponential, a sum and a quotient: the argument of the exponential is
// rounded (|s| units), and fast functions have some units more, 4 |s| + 16 in all. Then h is rounded to bf16.
static double activation_error(double s, double h, double error) {
  const double before = error + kHalf * (std::fabs(s) + error);
  const double after = 1.1 * before + (4 * std::fabs(s) + 16) * kFloat * (std::fabs(h) + 1.1 * before);
  return after + kHalf * (std::fabs(h) + after) + smallest_step(DType::bf16);
}

// A rank's part is a sum in f32 of activations, each off by activation_error, times weights; it may be rounded to bf16.
// Parts may be added in bf16, in any order: a part takes part in at most world - 1 additions, the last of which is the
// rounding to the output's format that Output::set knows of. So each part is rounded at most world - 1 times before
// that one, and an error e of a part grows by as much: the sum is off by at most
// ((1 + u)^(world - 1) - 1) * sum |part| + (1 + u)^(world - 1) * sum e.
void expect(Case& c) {
  const int64_t rows = c["rows"], hidden = c["hidden"], inner = c["inner"], world = c.world();
  // Of large products one row of each rank is looked at.
  const int64_t count = world * rows * hidden * inner < 1 << 23 ? rows : 1, all = world * count;
  std::vector<int64_t> drawn;         // rows of their ranks, `count` of each
  std::vector<const bf16*> token_of;  // these rows
  for (int r = 0; r < world; ++r) {
    const bf16* x = c.input<bf16>("x", r).data();
    for (const int64_t row : draw(c.random, rows, count)) {
      drawn.push_back(row);
      token_of.push_back(x + row * hidden);
    }
  }
  const auto outputs = static_cast<size_t>(all * hidden), activations = static_cast<size_t>(all * inner);
  std::vector<double> sums(outputs), magnitudes(outputs), errors(outputs), h(activations), h_error(activations);
  for (int r = 0; r < world; ++r) {
    const bf16 *up = c.input<bf16>("up", r).data(), *down = c.input<bf16>("down", r).data();
    Product first(all, inner);
    first.add(
        hidden, [&](int64_t i, int64_t l) { return token_of[static_cast<size_t>(i)][l]; },
        [&](int64_t l, int64_t j) { return up[j * hidden + l]; });
    for (int64_t i = 0; i < all; ++i) {
      for (int64_t j = 0; j < inner; ++j) {
        const auto at = static_cast<size_t>(i * inner + j);
        const double s = first.value(i, j);
        h[at] = s / (1 + std::exp(-s));
        h_error[at] = activation_error(s, h[at], first.bound(i, j));
      }
    }
    // Rows of activations, then rows of their errors: the magnitudes of the latter are sums of errors times |weight|.
    Product part(2 * all, hidden);
    part.add(
        inner,
        [&](int64_t i, int64_t l) {
          return i < all ? h[static_cast<size_t>(i * inner + l)] : h_error[static_cast<size_t>((i - all) * inner + l)];
        },
        [&](int64_t l, int64_t j) { return down[j * inner + l]; });
    for (int64_t i = 0; i < all; ++i) {
      for (int64_t j = 0; j < hidden; ++j) {
        const auto at = static_cast<size_t>(i * hidden + j);
        sums[at] += part.value(i, j);
        magnitudes[at] += std::fabs(part.value(i, j));
        errors[at] += part.magnitude(all + i, j) + part.bound(i, j) + part.bound(all + i, j);
      }
    }
  }
  const double growth = std::pow(1 + kHalf, world - 1);
  for (int r = 0; r < world; ++r) {
    Output y = c.output("y", r);
    if (count < rows) {
      for (int64_t i = 0; i < y.size(); ++i) y.ignore(i);
    }
    for (int64_t i = r * count; i < (r + 1) * count; ++i) {
      const int64_t row = drawn[static_cast<size_t>(i)];
      for (int64_t j = 0; j < hidden; ++j) {
        const auto at = static_cast<size_t>(i * hidden + j);
        y.set(row * hidden + j, sums[at], (growth - 1) * magnitudes[at] + growth * errors[at]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
