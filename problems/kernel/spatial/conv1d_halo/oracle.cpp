#include <fabricbench/oracle.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr int kTaps = 7, kHalo = kTaps - 1;

// Products of bf16 are exact in float. A term takes part in at most 6 additions, or in 7 fused ones that begin with
// zero, each of which is off by one rounding: 7 of them, of the sum of the magnitudes. Output::set adds the rounding to
// bf16.
void expect(Case& c) {
  const int world = c.world();
  const auto chunk = static_cast<size_t>(c["chunk"]), channels = static_cast<size_t>(c["channels"]);
  const bf16* taps = c.input<bf16>("w", 0).data();
  const std::vector<double> w(taps, taps + kTaps * channels);
  const int chunks = 2 * world;
  const auto owner = [&](int number) { return number < world ? number : chunks - 1 - number; };
  const auto chunk_of = [&](int number) {
    return c.input<bf16>("x", owner(number)).data() + (number < world ? 0 : chunk * channels);
  };
  constexpr double kError = kTaps * unit_roundoff(DType::f32) * 1.001;  // (1 + u)^7 - 1

  std::vector<double> x((kHalo + chunk) * channels);  // a chunk behind its halo; zeros before the first one
  std::vector<double> sums(channels), magnitudes(channels);
  for (int number = 0; number < chunks; ++number) {
    if (number > 0) {
      const bf16* before = chunk_of(number - 1);
      for (size_t i = 0; i < kHalo * channels; ++i) x[i] = before[(chunk - kHalo) * channels + i];
    }
    const bf16* own = chunk_of(number);
    for (size_t i = 0; i < chunk * channels; ++i) x[kHalo * channels + i] = own[i];
    Output y = c.output("y", owner(number));
    const size_t first = number < world ? 0 : chunk;
    for (size_t t = 0; t < chunk; ++t) {
      sums.assign(channels, 0);
      magnitudes.assign(channels, 0);
      for (size_t k = 0; k < kTaps; ++k) {
        const double *from = &x[(t + k) * channels], *by = &w[k * channels];
        for (size_t d = 0; d < channels; ++d) {
          const double term = from[d] * by[d];
          sums[d] += term;
          magnitudes[d] += std::fabs(term);
        }
      }
      for (size_t d = 0; d < channels; ++d)
        y.set(static_cast<int64_t>((first + t) * channels + d), sums[d], magnitudes[d] * kError);
    }
  }
}

FABRICBENCH_ORACLE(expect)
