#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-6;
constexpr double kFloat = unit_roundoff(DType::f32);
constexpr const char* kGradients[] = {"g0", "g1", "g2"};
constexpr const char* kClipped[] = {"c0", "c1", "c2"};

static double squares_of(Case& c) {
  double sum = 0;
  for (int r = 0; r < c.world(); ++r) {
    for (const char* name : kGradients) {
      for (const double value : c.input<bf16>(name, r)) sum += value * value;
    }
  }
  return sum;
}

// Half of the calls clip. In a quarter of them gradients are so small that epsilon counts where they are few.
void fill(Case& c) {
  if (c.random.below(4) == 0) {
    for (int r = 0; r < c.world(); ++r) {
      for (const char* name : kGradients) {
        for (bf16& value : c.input<bf16>(name, r)) value = bf16(static_cast<float>(value) * 0x1p-20F);
      }
    }
  }
  const double norm = std::sqrt(squares_of(c));
  const double share = c.random.below(2) == 0 ? c.random.between(0.1, 0.9) : c.random.between(1.2, 4);
  c.input<float>("max_norm", 0)[0] = static_cast<float>(norm * share);
}

// A square is rounded once and takes part in at most 4,096 additions (the statement says so), or in as many as there
// are terms; all are positive. sqrtf is right to a unit in the last place: two roundings.
//
// The coefficient has 10 roundings of its own: 2 of the root, 1 of the constant, 1 of the sum with it, 4 of a division
// that is right to 2 units in the last place, 1 of the product, and 1 for what they make together. It falls as the norm
// grows. Where it is 1 at both ends, gradients stay as they are, bit by bit. Output::set adds the rounding to bf16.
void expect(Case& c) {
  const auto terms = static_cast<double>((c["n0"] + c["n1"] + c["n2"]) * c.world());
  const double squares = squares_of(c), error = (std::fmin(terms, 4096) + 1) * kFloat * squares;
  const double norm = std::sqrt(squares), most = std::sqrt(squares + error) * (1 + 2 * kFloat),
               least = std::sqrt(squares - error) * (1 - 2 * kFloat);
  c.output("norm").set(0, norm, std::fmax(most - norm, norm - least));

  const double limit = c.input<float>("max_norm", 0)[0];
  const double factor = std::fmin(1, limit / (norm + kEpsilon));
  const double highest = std::fmin(1, limit / (least + kEpsilon) * (1 + 10 * kFloat)),
               lowest = std::fmin(1, limit / (most + kEpsilon) * (1 - 10 * kFloat));
  const double apart = std::fmax(highest - factor, factor - lowest);
  for (int r = 0; r < c.world(); ++r) {
    for (int k = 0; k < 3; ++k) {
      const auto g = c.input<bf16>(kGradients[k], r);
      Output clipped = c.output(kClipped[k], r);
      for (size_t i = 0; i < g.size(); ++i) {
        const double value = g[i];
        if (lowest == 1) {
          clipped.set(static_cast<int64_t>(i), value);
        } else {
          clipped.set(static_cast<int64_t>(i), value * factor, std::fabs(value) * apart);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
