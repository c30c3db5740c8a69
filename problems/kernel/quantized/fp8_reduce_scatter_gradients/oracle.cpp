#include <fabricbench/oracle.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Weights differ in size by orders of magnitude, and ranks' gradients by up to four times. The peak of the history is a
// quarter to four times of what the largest number may be: some are cut off. One history in eight has nothing but
// zeros, as before the first step; the scale is 1 then, and the gradients neither tiny nor huge.
//
// Histories are of bf16 numbers, so that quotients are often in the middle between two codes, where a product with the
// reciprocal of the scale goes astray.
void fill(Case& c) {
  const int64_t tensors = c["tensors"];
  const auto all = static_cast<size_t>(c["count"] * c.world()), steps = static_cast<size_t>(c["steps"]);
  for (int64_t w = 0; w < tensors; ++w) {
    const bool first = c.random.below(8) == 0;
    const double size = std::exp2(first ? c.random.between(-1, 4) : c.random.between(-10, 4));
    const double peak = 16 * size * std::exp2(c.random.between(-2, 2));
    for (int r = 0; r < c.world(); ++r) {
      const auto factor = static_cast<float>(size * std::exp2(c.random.between(-2, 0)));
      for (bf16& value : c.input<bf16>("grad", r).subspan(static_cast<size_t>(w) * all, all))
        value = bf16(static_cast<float>(value) * factor);
    }
    for (float& value : c.input<float>("history", 0).subspan(static_cast<size_t>(w) * steps, steps))
      value = first ? 0 : static_cast<float>(bf16(static_cast<float>(peak * std::exp2(c.random.between(-4, 0)))));
  }
}

// Codes are multiples of 2^-9 of at most 448: sums of eight need 21 bits, and are exact in float in any order. Each
// term takes part in at most world + 3 roundings: where it is multiplied by the scale, in world additions if that is
// done first, and two in the mean (a reciprocal or quotient, and a product).
void expect(Case& c) {
  const auto tensors = static_cast<size_t>(c["tensors"]), count = static_cast<size_t>(c["count"]),
             steps = static_cast<size_t>(c["steps"]), world = static_cast<size_t>(c.world());
  const double roundings = (c.world() + 3) * unit_roundoff(DType::f32);
  std::vector<Output> means;
  std::vector<const bf16*> grads;
  for (int r = 0; r < c.world(); ++r) {
    means.push_back(c.output("mean", r));
    grads.push_back(c.input<bf16>("grad", r).data());
  }
  Output next = c.output("new_history");
  std::array<float, 256> number{};
  for (size_t code = 0; code < 256; ++code) number[code] = quantized::from_e4m3(static_cast<uint8_t>(code));
  std::vector<float> sum(count), modulus(count);
  for (size_t w = 0; w < tensors; ++w) {
    const std::span<const float> history = c.input<float>("history", 0).subspan(w * steps, steps);
    const float scale = quantized::delayed_scale(history);
    const double factor = static_cast<double>(scale) / static_cast<double>(world);
    float most = 0;
    for (size_t d = 0; d < world; ++d) {
      std::fill(sum.begin(), sum.end(), 0.0F);
      std::fill(modulus.begin(), modulus.end(), 0.0F);
      for (const bf16* grad : grads) {
        const std::span part(grad + (w * world + d) * count, count);
        most = std::max(most, quantized::largest(part));
        for (size_t j = 0; j < count; ++j) {
          const float value = number[quantized::to_e4m3(part[j] / scale)];
          sum[j] += value;
          modulus[j] += std::fabs(value);
        }
      }
      for (size_t j = 0; j < count; ++j)
        means[d].set(static_cast<int64_t>(w * count + j), sum[j] * factor, roundings * modulus[j] * factor);
    }
    for (size_t h = 0; h < steps; ++h)
      next.set(static_cast<int64_t>(w * steps + h), h + 1 < steps ? history[h + 1] : most);
  }
}

FABRICBENCH_ORACLE(expect, fill)
