#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>

using namespace fabricbench::oracle;

// Angles as in models: position times a frequency that falls from pair to pair. Documents are packed: positions begin
// anew at random tokens, at other ones on each rank and at each call.
void fill(Case& c) {
  const int64_t tokens = c["tokens"], half = c["dim"] / 2;
  for (int r = 0; r < c.world(); ++r) {
    const auto cosines = c.input<float>("cos", r), sines = c.input<float>("sin", r);
    auto position = static_cast<double>(c.random.below(8192));
    for (int64_t t = 0; t < tokens; ++t, ++position) {
      if (c.random.below(64) == 0) position = 0;
      for (int64_t d = 0; d < half; ++d) {
        const double angle = position * std::pow(500000.0, -static_cast<double>(d) / static_cast<double>(half));
        cosines[static_cast<size_t>(t * half + d)] = static_cast<float>(std::cos(angle));
        sines[static_cast<size_t>(t * half + d)] = static_cast<float>(std::sin(angle));
      }
    }
  }
}

// Two products and their sum, in float: each term is rounded at most twice. Output::set adds the rounding to bf16.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], dim = c["dim"], half = dim / 2;
  for (const bool keys : {false, true}) {
    const int64_t heads = keys ? c["k_heads"] : c["q_heads"];
    Output out = c.output(keys ? "k_all" : "q_all");
    for (int r = 0; r < c.world(); ++r) {
      const bf16* in = c.input<bf16>(keys ? "k" : "q", r).data();
      const float *cosines = c.input<float>("cos", r).data(), *sines = c.input<float>("sin", r).data();
      const auto set = [&](int64_t i, double a, double b) {
        out.set(r * tokens * heads * dim + i, a + b,
                2 * unit_roundoff(DType::f32) * (std::fabs(a) + std::fabs(b)) * (1 + 0x1p-20));
      };
      for (int64_t row = 0; row < tokens * heads; ++row) {
        const float *cos = cosines + row / heads * half, *sin = sines + row / heads * half;
        for (int64_t d = 0; d < half; ++d) {
          const double low = in[row * dim + d], high = in[row * dim + half + d], x = cos[d], y = sin[d];
          set(row * dim + d, low * x, -high * y);
          set(row * dim + half + d, high * x, low * y);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
