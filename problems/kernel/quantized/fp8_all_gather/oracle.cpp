#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>

#include "../mathematics.h"

using namespace fabricbench::oracle;
using quantized::kBlock;

// Blocks differ in size by orders of magnitude. One in four has an outlier of up to 1,024 times its size, so that the
// other codes are small, subnormal or zeros; one in sixteen has nothing but zeros.
void fill(Case& c) {
  const int64_t blocks = c["rows"] * c["hidden"] / kBlock;
  for (int r = 0; r < c.world(); ++r) {
    const auto x = c.input<bf16>("x", r);
    for (int64_t b = 0; b < blocks; ++b) {
      const auto block = x.subspan(static_cast<size_t>(b * kBlock), kBlock);
      const auto size = static_cast<float>(c.random.below(16) == 0 ? 0 : std::exp2(c.random.between(-10, 6)));
      for (bf16& value : block) value = bf16(static_cast<float>(value) * size);
      if (c.random.below(4) == 0) {
        bf16& outlier = block[static_cast<size_t>(c.random.below(kBlock))];
        outlier = bf16(static_cast<float>(outlier) * static_cast<float>(std::exp2(c.random.between(0, 10))));
      }
    }
  }
}

void expect(Case& c) {
  const int64_t blocks = c["rows"] * c["hidden"] / kBlock;
  Output codes = c.output("codes"), scales = c.output("scales");
  int64_t at = 0;  // a block of all ranks
  for (int r = 0; r < c.world(); ++r) {
    const bf16* x = c.input<bf16>("x", r).data();
    for (int64_t b = 0; b < blocks; ++b, ++at, x += kBlock) {
      const float scale = quantized::largest(std::span(x, kBlock)) / quantized::kLargestE4m3;
      const float divisor = quantized::divisor(scale);
      scales.set(at, scale);
      for (int64_t k = 0; k < kBlock; ++k) codes.set(at * kBlock + k, quantized::to_e4m3(x[k] / divisor));
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
