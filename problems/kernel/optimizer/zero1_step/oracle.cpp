#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;
using optimizer::kFloat;
using optimizer::Near;

// Averages of all gradients. The sum has Sum's bound; the product with 1 / world, which is rounded, has two units more.
// Where each gradient is divided first, the rounding of each term is in Sum's bound.
static std::vector<Near> averages(Case& c) {
  std::vector<const bf16*> grad;
  for (int r = 0; r < c.world(); ++r) grad.push_back(c.input<bf16>("grad", r).data());
  std::vector<Near> all(static_cast<size_t>(c.world() * c["n"]));
  const double world = c.world();
  for (size_t j = 0; j < all.size(); ++j) {
    Sum sum;
    for (const bf16* values : grad) sum.add(values[j]);
    all[j] = {sum.value() / world, (sum.bound() + 2 * kFloat * (std::fabs(sum.value()) + sum.bound())) / world};
  }
  return all;
}

// Weights below 1/16, and learning rates of 2^-10 to 2^-7: a step is a few per cent of a weight or more, and some
// change its sign. Half of the calls are early steps, where the corrections count. One parameter of 16 has gradients
// and moments around 1e-8: epsilon counts there.
void fill(Case& c) {
  const auto n = static_cast<size_t>(c["n"]);
  for (int r = 0; r < c.world(); ++r) {
    const auto master = c.input<float>("master", r), m = c.input<float>("m", r), v = c.input<float>("v", r);
    for (size_t i = 0; i < n; ++i) {
      const bool small = c.random.below(16) == 0;
      const float scale = small ? 0x1p-27F : 1;
      const auto root = static_cast<float>(c.random.between(0.25, 1.25)) * scale;
      m[i] *= scale;
      v[i] = root * root;
      master[i] *= 0x1p-4F;
      if (!small) continue;
      for (int from = 0; from < c.world(); ++from) {
        bf16& g = c.input<bf16>("grad", from)[static_cast<size_t>(r) * n + i];
        g = bf16(static_cast<float>(g) * scale);
      }
    }
  }
  c.input<int32_t>("step", 0)[0] = static_cast<int32_t>(1 + c.random.below(c.random.below(2) == 0 ? 8 : 5000));
  c.input<float>("lr", 0)[0] = static_cast<float>(c.random.between(0x1p-10, 0x1p-7));
  double squares = 0;
  for (const Near& g : averages(c)) squares += g.value * g.value;
  const double share = c.random.below(2) == 0 ? c.random.between(0.1, 0.9) : c.random.between(1.2, 4);
  c.input<float>("max_norm", 0)[0] = static_cast<float>(std::sqrt(squares) * share);
}

// A square is rounded once and takes part in at most 4,096 additions (the statement says so), or in as many as there
// are terms; all are positive. Averages are off themselves. sqrtf is right to a unit in the last place: two roundings.
//
// The coefficient has 9 roundings of its own: 2 of the root, 1 of the constant, 1 of the sum with it, 4 of a division
// that is right to 2 units in the last place, and 1 for what they make together; the product with it has one more. It
// falls as the norm grows. Where it is 1 at both ends, gradients stay as they are.
void expect(Case& c) {
  const int64_t n = c["n"];
  const std::vector<Near> grad = averages(c);
  double squares = 0, error = 0;
  for (const Near& g : grad) {
    squares += g.value * g.value;
    error += g.error * (2 * std::fabs(g.value) + g.error);
  }
  error += (std::fmin(static_cast<double>(grad.size()), 4096) + 1) * kFloat * (squares + error);
  const double norm = std::sqrt(squares), most = std::sqrt(squares + error) * (1 + 2 * kFloat),
               least = std::sqrt(squares - error) * (1 - 2 * kFloat);
  c.output("norm").set(0, norm, std::fmax(most - norm, norm - least));

  const double limit = c.input<float>("max_norm", 0)[0];
  const auto factor_of = [&](double by) { return limit / (by + 1e-6); };
  const double factor = std::fmin(1, factor_of(norm));
  const double highest = std::fmin(1, factor_of(least) * (1 + 10 * kFloat)),
               lowest = std::fmin(1, factor_of(most) * (1 - 10 * kFloat));
  const double apart = std::fmax(highest - factor, factor - lowest);

  const optimizer::Step step(c.input<int32_t>("step", 0)[0], c.input<float>("lr", 0)[0]);
  Output params = c.output("params"), grad_out = c.output("grad_out");
  for (int r = 0; r < c.world(); ++r) {
    const auto master = c.input<float>("master", r), m = c.input<float>("m", r), v = c.input<float>("v", r);
    Output master_out = c.output("master_out", r), m_out = c.output("m_out", r), v_out = c.output("v_out", r);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      const Near& g = grad[static_cast<size_t>(r * n + i)];
      const Near clipped = {g.value * factor, g.error * highest + std::fabs(g.value) * apart};
      const auto to = optimizer::adam(step, clipped, m[at], v[at], master[at]);
      master_out.set(i, to.w.value, to.w.error);
      m_out.set(i, to.m.value, to.m.error);
      v_out.set(i, to.v.value, to.v.error);
      optimizer::set_rounded(params, r * n + i, to.w);
      optimizer::set_rounded(grad_out, r * n + i, g);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
