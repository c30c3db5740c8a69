#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;
using optimizer::kFloat;
constexpr double kHalf = unit_roundoff(DType::bf16);
constexpr int64_t kCompared = 12;  // rows of a rank, where it has more

// Weights are below 1/4. Moments are as large as the gradients will be: the error of an output has a variance of
// 1/3 + width / 144, that of a token's number is 1/3. Half of the calls are early steps, where the corrections count.
void fill(Case& c) {
  const auto tokens = static_cast<double>(c.world() * c["tokens"]), width = static_cast<double>(c["width"]);
  const double size = std::sqrt((1.0 / 3 + width / 144) / 3 / tokens);
  const auto scale = static_cast<float>(std::exp2(std::round(std::log2(size))));
  for (int r = 0; r < c.world(); ++r) {
    const auto master = c.input<float>("master", r), m = c.input<float>("m", r), v = c.input<float>("v", r);
    for (size_t i = 0; i < v.size(); ++i) {
      const auto root = static_cast<float>(c.random.between(0.25, 1.25)) * scale;
      m[i] *= scale;
      v[i] = root * root;
      master[i] *= 0x1p-2F;
    }
  }
  c.input<int32_t>("step", 0)[0] = static_cast<int32_t>(1 + c.random.below(c.random.below(2) == 0 ? 8 : 5000));
  c.input<float>("lr", 0)[0] = static_cast<float>(c.random.between(0x1p-10, 0x1p-7));
}

// A row of the gradients depends on that row of the weights alone, and on all tokens.
//
// An output is a sum of `width` products in f32, in any order, by tensor cores that cut off: 2 units for each. Its
// error has 3 roundings more (difference, quotient) and one to bf16. A gradient is a sum over all tokens of all ranks,
// in f32 likewise, with two units more for each rank's part and for the division by the number of ranks; errors of the
// factors come on top.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], width = c["width"], rows = c["rows"], world = c.world(), all = world * tokens;
  const optimizer::Step step(c.input<int32_t>("step", 0)[0], c.input<float>("lr", 0)[0], 0.1);
  std::vector<double> x;
  for (int s = 0; s < c.world(); ++s) {
    for (const double value : c.input<bf16>("x", s)) x.push_back(value);
  }
  const double deep = 2 * static_cast<double>(width) * kFloat, long_sum = 2 * static_cast<double>(all + world) * kFloat;
  std::vector<double> w(static_cast<size_t>(width)), sum(w.size()), size(w.size()), off(w.size());
  for (int r = 0; r < c.world(); ++r) {
    const auto master = c.input<float>("master", r), m = c.input<float>("m", r), v = c.input<float>("v", r);
    Output master_out = c.output("master_out", r), m_out = c.output("m_out", r), v_out = c.output("v_out", r);
    int64_t left = std::min(kCompared, rows);
    for (int64_t j = 0; j < rows; ++j) {
      if (c.random.below(rows - j) >= left) {
        for (int64_t k = j * width; k < (j + 1) * width; ++k) {
          master_out.ignore(k);
          m_out.ignore(k);
          v_out.ignore(k);
        }
        continue;
      }
      --left;
      for (int64_t k = 0; k < width; ++k) {
        w[k] = bf16(master[static_cast<size_t>(j * width + k)]);
        sum[k] = size[k] = off[k] = 0;
      }
      for (int64_t t = 0; t < all; ++t) {
        const double* token = &x[static_cast<size_t>(t * width)];
        double y = 0, magnitude = 0;
        for (int64_t k = 0; k < width; ++k) {
          const double term = token[k] * w[k];
          y += term;
          magnitude += std::fabs(term);
        }
        const double target = c.input<bf16>(
            "target", static_cast<int>(t / tokens))[static_cast<size_t>(t % tokens * world * rows + r * rows + j)];
        const double apart = (y - target) / static_cast<double>(tokens);
        double error = deep / (1 - deep) * magnitude / static_cast<double>(tokens);
        error += 3 * kFloat * (std::fabs(apart) + error);
        error += kHalf * (std::fabs(apart) + error);
        for (int64_t k = 0; k < width; ++k) {
          sum[k] += apart * token[k];
          size[k] += std::fabs(apart * token[k]);
          off[k] += error * std::fabs(token[k]);
        }
      }
      for (int64_t k = 0; k < width; ++k) {
        const auto at = static_cast<size_t>(j * width + k);
        const double error = off[k] + (long_sum / (1 - long_sum) + 4 * kFloat) * (size[k] + off[k]);
        const auto to = optimizer::adam(step, {sum[k] / static_cast<double>(world), error / static_cast<double>(world)},
                                        m[at], v[at], master[at]);
        master_out.set(j * width + k, to.w.value, to.w.error);
        m_out.set(j * width + k, to.m.value, to.m.error);
        v_out.set(j * width + k, to.v.value, to.v.error);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
