#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// The bound. Rounding errors are taken as independent of each other, with mean 0 and a standard deviation of at most u
// = 2^-24 times the number that is rounded (Higham and Mary, 2019), and inputs have random signs. Let s be the root
// mean square of the field, which is that of its spectrum, too: errors are carried on by rotations and are neither
// amplified nor damped. Everything below is in units of u and of the result's size s.
//
// - By the definition, first over rows and then over columns, in any order: after m terms a sum of n has a size of
//   sqrt(m / n), so that n additions err by the root of the sum of m / n over m = 1 … n: sqrt(n / 2). Both steps:
//   sqrt(width / 2) + sqrt(height / 2). Terms, tables of cosines and the factor add less than 4.
// - By fast transforms: log2(height * width) stages, each with a factor (its own rounding and those of a complex
//   product) and an addition: less than 3 each, 3 sqrt(log2(height * width)) in all. That is less than
//   sqrt(width) + sqrt(height) + 4 at all sizes.
//
// 8 times sqrt(width) + sqrt(height) + 4 is at least 8 standard deviations of either way, and of mixtures.
void expect(Case& c) {
  const int64_t fields = c["fields"], height = c["height"], width = c["width"], half = width / 2 + 1;
  const int world = c.world();
  const auto rows = static_cast<size_t>(height), columns = static_cast<size_t>(width);
  Fourier along_rows(columns, -1), along_columns(rows, -1);
  const double factor = 1 / std::sqrt(static_cast<double>(height * width));
  const double error = 8 * unit_roundoff(DType::f32) *
                       (std::sqrt(static_cast<double>(height)) + std::sqrt(static_cast<double>(width)) + 4);
  std::vector<Complex> field(rows * columns);
  for (int64_t f = 0; f < fields; ++f) {
    double squares = 0;
    for (int r = 0; r < world; ++r) {
      const int64_t first = first_of(height, r, world), count = first_of(height, r + 1, world) - first;
      const auto x = c.input<float>("x", r).subspan(static_cast<size_t>(f * count * width));
      for (int64_t i = 0; i < count * width; ++i) {
        const double value = x[static_cast<size_t>(i)];
        field[static_cast<size_t>(first * width + i)] = value;
        squares += value * value;
      }
    }
    const double bound = error * std::sqrt(squares) * factor;
    for (size_t h = 0; h < rows; ++h) along_rows.transform(&field[h * columns]);
    for (size_t k = 0; k < static_cast<size_t>(half); ++k) along_columns.transform(&field[k], columns);
    for (int r = 0; r < world; ++r) {
      const int64_t first = first_of(half, r, world), count = first_of(half, r + 1, world) - first;
      Output spectrum = c.output("spectrum", r);
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t h = 0; h < height; ++h) {
          const Complex value = field[static_cast<size_t>(h * width + first + k)] * factor;
          const int64_t at = ((f * count + k) * height + h) * 2;
          spectrum.set(at, value.real(), bound);
          spectrum.set(at + 1, value.imag(), bound);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
