#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// The bound. Rounding errors are taken as independent of each other, with mean 0 and a standard deviation of at most u
// = 2^-24 times the number that is rounded (Higham and Mary, 2019), and inputs have random signs. Let s be the root of
// the mean of a spectrum's squares, of both halves: that is the size of its field, and of all that is in between, but
// for factors: rotations neither amplify nor damp errors. Everything below is in units of u and of the result's size s.
//
// - By the definition, first over columns and then over rows, in any order: after m terms a sum of n has a size of
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
  Fourier along_rows(columns, 1), along_columns(rows, 1);
  const double factor = 1 / std::sqrt(static_cast<double>(height * width));
  const double error = 8 * unit_roundoff(DType::f32) *
                       (std::sqrt(static_cast<double>(height)) + std::sqrt(static_cast<double>(width)) + 4);
  std::vector<Complex> field(rows * columns);
  for (int64_t f = 0; f < fields; ++f) {
    std::fill(field.begin(), field.end(), 0);
    double squares = 0;
    for (int r = 0; r < world; ++r) {
      const int64_t first = first_of(half, r, world), count = first_of(half, r + 1, world) - first;
      const auto spectrum = c.input<float>("spectrum", r).subspan(static_cast<size_t>(f * count * height * 2));
      for (int64_t k = 0; k < count; ++k) {
        const double weight = first + k == 0 || first + k == width / 2 ? 1 : 2;
        for (int64_t u = 0; u < height; ++u) {
          const auto at = static_cast<size_t>((k * height + u) * 2);
          const Complex value(spectrum[at], spectrum[at + 1]);
          field[static_cast<size_t>(u * width + first + k)] = weight * value;
          squares += weight * std::norm(value);
        }
      }
    }
    const double bound = error * std::sqrt(squares) * factor;
    for (size_t k = 0; k < static_cast<size_t>(half); ++k) along_columns.transform(&field[k], columns);
    for (size_t h = 0; h < rows; ++h) along_rows.transform(&field[h * columns]);
    for (int r = 0; r < world; ++r) {
      const int64_t first = first_of(height, r, world), count = first_of(height, r + 1, world) - first;
      Output x = c.output("x", r);
      for (int64_t i = 0; i < count * width; ++i)
        x.set(f * count * width + i, field[static_cast<size_t>(first * width + i)].real() * factor, bound);
    }
  }
}

FABRICBENCH_ORACLE(expect)
