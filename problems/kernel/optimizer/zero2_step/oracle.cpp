#include <fabricbench/oracle.h>

#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

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
}

// The sum of gradients has Sum's bound; the product with 1 / world, which is rounded, has two units more. Where each
// gradient is divided first, the rounding of each term is in Sum's bound.
void expect(Case& c) {
  const int64_t n = c["n"];
  const double world = c.world();
  const optimizer::Step step(c.input<int32_t>("step", 0)[0], c.input<float>("lr", 0)[0]);
  std::vector<const bf16*> grad;
  for (int r = 0; r < c.world(); ++r) grad.push_back(c.input<bf16>("grad", r).data());
  Output params = c.output("params");
  for (int r = 0; r < c.world(); ++r) {
    const auto master = c.input<float>("master", r), m = c.input<float>("m", r), v = c.input<float>("v", r);
    Output master_out = c.output("master_out", r), m_out = c.output("m_out", r), v_out = c.output("v_out", r);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      Sum sum;
      for (const bf16* values : grad) sum.add(values[r * n + i]);
      const double error = sum.bound() + 2 * optimizer::kFloat * (std::fabs(sum.value()) + sum.bound());
      const auto to = optimizer::adam(step, {sum.value() / world, error / world}, m[at], v[at], master[at]);
      master_out.set(i, to.w.value, to.w.error);
      m_out.set(i, to.m.value, to.m.error);
      v_out.set(i, to.v.value, to.v.error);
      optimizer::set_rounded(params, r * n + i, to.w);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
