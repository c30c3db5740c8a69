#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;
using quantized::kBlock;

// Blocks differ in size by orders of magnitude, ranks by up to four times, and one in eight has nothing but zeros.
void fill(Case& c) {
  const int64_t blocks = c["n"] / kBlock;
  for (int64_t b = 0; b < blocks; ++b) {
    const double size = std::exp2(c.random.between(-12, 4));
    for (int r = 0; r < c.world(); ++r) {
      const double own = c.random.below(8) == 0 ? 0 : std::exp2(c.random.between(-1, 1));
      for (bf16& value : c.input<bf16>("grad", r).subspan(static_cast<size_t>(b * kBlock), kBlock))
        value = bf16(static_cast<float>(value) * static_cast<float>(size * own));
    }
  }
}

// Codes and scales are exact. Each term takes part in at most world + 3 roundings: its product, world additions at
// most, the mean's reciprocal and product. Rounding to bf16 is monotone, so where both ends of the interval round to
// the same number, every correct solution has exactly this one. Elsewhere either may come out.
void expect(Case& c) {
  const auto round = [](double value) -> double { return bf16(static_cast<float>(value)); };
  const int64_t blocks = c["n"] / kBlock;
  const double world = c.world(), roundings = (world + 3) * unit_roundoff(DType::f32);
  std::vector<const bf16*> grad;
  for (int r = 0; r < c.world(); ++r) grad.push_back(c.input<bf16>("grad", r).data());
  Output mean = c.output("mean");
  for (int64_t b = 0; b < blocks; ++b) {
    double sum[kBlock] = {}, modulus[kBlock] = {};
    for (const bf16* all : grad) {
      const bf16* values = all + b * kBlock;
      const float scale = quantized::largest(std::span(values, kBlock)) / quantized::kLargestInt8;
      const float divisor = quantized::divisor(scale);
      for (int64_t k = 0; k < kBlock; ++k) {
        const double term = quantized::to_int8(values[k] / divisor) * static_cast<double>(scale);
        sum[k] += term;
        modulus[k] += std::fabs(term);
      }
    }
    for (int64_t k = 0; k < kBlock; ++k) {
      const double value = sum[k] / world, error = roundings * modulus[k] / world;
      const double low = round(value - error), high = round(value + error);
      if (low == high) {
        mean.set(b * kBlock + k, low);
      } else {
        mean.set(b * kBlock + k, value, error);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
