#include <fabricbench/oracle.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../mathematics.h"

using namespace fabricbench::oracle;
using quantized::kBlock;

// Random codes; the two that are no numbers become the largest ones. Scales differ by orders of magnitude.
void fill(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    const auto codes = c.input<uint8_t>("codes", r);
    for (size_t i = 0; i < codes.size(); i += 8) {
      const uint64_t bits = c.random.bits();
      std::memcpy(&codes[i], &bits, 8);
    }
    for (uint8_t& code : codes) {
      if ((code & 0x7f) == 0x7f) code ^= 1;
    }
    for (float& scale : c.input<float>("scales", r)) scale = static_cast<float>(std::exp2(c.random.between(-14, 2)));
  }
}

void expect(Case& c) {
  std::array<float, 256> number{};
  for (int code = 0; code < 256; ++code)
    number[static_cast<size_t>(code)] = quantized::from_e4m3(static_cast<uint8_t>(code));
  const int64_t blocks = c["rows"] * c["hidden"] / kBlock;  // of one rank for another
  for (int s = 0; s < c.world(); ++s) {
    const uint8_t* codes = c.input<uint8_t>("codes", s).data();
    const float* scales = c.input<float>("scales", s).data();
    for (int r = 0; r < c.world(); ++r) {
      Output out = c.output("out", r);
      int64_t at = s * blocks * kBlock;
      for (int64_t b = 0; b < blocks; ++b) {
        const float scale = *scales++;
        for (int64_t k = 0; k < kBlock; ++k) out.set(at++, bf16(number[*codes++] * scale));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
