#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Weights differ in size by orders of magnitude, and ranks' parts of them by up to four times. The peak of the history
// is a quarter to four times of what the largest number may be: some weights are cut off. One history in eight has
// nothing but zeros, as before the first step; the scale is 1 then, and the weight neither tiny nor huge.
//
// Histories are of bf16 numbers, so that quotients are often in the middle between two codes, where a product with the
// reciprocal of the scale goes astray.
void fill(Case& c) {
  const int64_t tensors = c["tensors"];
  const auto count = static_cast<size_t>(c["count"]), steps = static_cast<size_t>(c["steps"]);
  for (int64_t w = 0; w < tensors; ++w) {
    const bool first = c.random.below(8) == 0;
    const double size = std::exp2(first ? c.random.between(-1, 4) : c.random.between(-10, 4));
    const double peak = 16 * size * std::exp2(c.random.between(-2, 2));
    for (int r = 0; r < c.world(); ++r) {
      const auto factor = static_cast<float>(size * std::exp2(c.random.between(-2, 0)));
      for (bf16& value : c.input<bf16>("shard", r).subspan(static_cast<size_t>(w) * count, count))
        value = bf16(static_cast<float>(value) * factor);
    }
    for (float& value : c.input<float>("history", 0).subspan(static_cast<size_t>(w) * steps, steps))
      value = first ? 0 : static_cast<float>(bf16(static_cast<float>(peak * std::exp2(c.random.between(-4, 0)))));
  }
}

void expect(Case& c) {
  const auto tensors = static_cast<size_t>(c["tensors"]), count = static_cast<size_t>(c["count"]),
             steps = static_cast<size_t>(c["steps"]);
  Output codes = c.output("codes"), scales = c.output("scales"), next = c.output("new_history");
  int64_t at = 0;
  for (size_t w = 0; w < tensors; ++w) {
    const std::span<const float> history = c.input<float>("history", 0).subspan(w * steps, steps);
    const float scale = quantized::delayed_scale(history);
    scales.set(static_cast<int64_t>(w), scale);
    float most = 0;
    for (int r = 0; r < c.world(); ++r) {
      const std::span<const bf16> part = c.input<bf16>("shard", r).subspan(w * count, count);
      most = std::max(most, quantized::largest(part));
      for (const bf16 value : part) codes.set(at++, quantized::to_e4m3(value / scale));
    }
    for (size_t h = 0; h < steps; ++h)
      next.set(static_cast<int64_t>(w * steps + h), h + 1 < steps ? history[h + 1] : most);
  }
}

FABRICBENCH_ORACLE(expect, fill)
