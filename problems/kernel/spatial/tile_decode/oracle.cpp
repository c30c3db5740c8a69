#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kBf16 = unit_roundoff(DType::bf16), kFloat = unit_roundoff(DType::f32);

// Colours are made larger and smaller from call to call: of 16 channels they are mostly clipped, or hardly ever.
void fill(Case& c) {
  const double scale =
      std::exp2(-static_cast<double>(2 + c.random.below(6))) / std::sqrt(static_cast<double>(c["channels"]));
  for (bf16& value : c.input<bf16>("w", 0)) value = bf16(static_cast<float>(static_cast<double>(value) * scale));
}

// A number and how far it may be off.
struct Value {
  double at = 0, error = 0;
};

// Between a and b. In float it is a + f (b - a), or (1 - f) a + f b: the weights are rounded at most twice, products
// and sums three times, at most 6 roundings of the larger one. Errors of a and b go on with their weights. A sum of
// four products with weights that are multiplied before has fewer roundings than two steps of this.
Value between(const Value& a, const Value& b, double f) {
  const double most = std::max(std::fabs(a.at) + a.error, std::fabs(b.at) + b.error);
  return {(1 - f) * a.at + f * b.at, (1 - f) * a.error + f * b.error + 6.01 * kFloat * most};
}

// Where the centre of a pixel is between latents.
struct Place {
  int64_t before, behind;
  double fraction;
};

Place place_of(int64_t pixel, int64_t tile) {
  const double s = (static_cast<double>(pixel) + 0.5) / 8 - 0.5;
  const auto floor = static_cast<int64_t>(std::floor(s));
  return {std::max<int64_t>(floor, 0), std::min(floor + 1, tile - 1), s - std::floor(s)};
}

// The tiles of one direction that have a pixel: `last` has it at `at`, and where `share` is less than 1 the one before
// it has the rest of the weight, `step` pixels further on.
struct Cover {
  int64_t last, at;
  double share;
};

Cover cover_of(int64_t pixel, int64_t tiles, int64_t step, int64_t overlap) {
  const int64_t last = std::min(tiles - 1, pixel / step), at = pixel - last * step;
  const bool both = last > 0 && at < overlap;
  return {last, at, both ? static_cast<double>(2 * at + 1) / static_cast<double>(2 * overlap) : 1};
}

void expect(Case& c) {
  const int64_t down = c["down"], across = c["across"], tile = c["tile"], channels = c["channels"];
  const int64_t overlap = 8 * c["overlap"], pixels = 8 * tile, step = pixels - overlap, world = c.world();
  const int64_t height = step * (down - 1) + pixels, width = step * (across - 1) + pixels;
  const bf16* w = c.input<bf16>("w", 0).data();

  // All tiles, decoded: [tile][colour][row][column]. Products of bf16 are exact in float, and each takes part in at
  // most as many additions as there are channels. Clipping brings numbers no further apart, and P may be rounded to
  // bf16.
  std::vector<Value> decoded(static_cast<size_t>(down * across * 3 * pixels * pixels));
  std::vector<Value> mixed(static_cast<size_t>(tile * tile)), row(static_cast<size_t>(tile));
  std::vector<Place> places;
  for (int64_t x = 0; x < pixels; ++x) places.push_back(place_of(x, tile));
  for (int64_t k = 0; k < down * across; ++k) {
    const bf16* latents =
        c.input<bf16>("latents", static_cast<int>(k % world)).data() + k / world * channels * tile * tile;
    for (int64_t o = 0; o < 3; ++o) {
      for (int64_t i = 0; i < tile * tile; ++i) {
        double sum = 0, magnitude = 0;
        for (int64_t channel = 0; channel < channels; ++channel) {
          const double term =
              static_cast<double>(w[o * channels + channel]) * static_cast<double>(latents[channel * tile * tile + i]);
          sum += term;
          magnitude += std::fabs(term);
        }
        mixed[static_cast<size_t>(i)] = {sum, 1.001 * static_cast<double>(channels) * kFloat * magnitude};
      }
      for (int64_t y = 0; y < pixels; ++y) {
        const Place& rows = places[static_cast<size_t>(y)];
        for (int64_t j = 0; j < tile; ++j) {
          row[static_cast<size_t>(j)] = between(mixed[static_cast<size_t>(rows.before * tile + j)],
                                                mixed[static_cast<size_t>(rows.behind * tile + j)], rows.fraction);
        }
        Value* to = &decoded[static_cast<size_t>(((k * 3 + o) * pixels + y) * pixels)];
        for (int64_t x = 0; x < pixels; ++x) {
          const Place& columns = places[static_cast<size_t>(x)];
          Value value = between(row[static_cast<size_t>(columns.before)], row[static_cast<size_t>(columns.behind)],
                                columns.fraction);
          // Where even the end of the error's range is clipped, nothing of it is left.
          const double low = std::clamp(value.at - value.error, -1.0, 1.0),
                       high = std::clamp(value.at + value.error, -1.0, 1.0);
          value.at = std::clamp(value.at, -1.0, 1.0);
          value.error = std::max(high - value.at, value.at - low);
          value.error += kBf16 * (std::fabs(value.at) + value.error);
          to[x] = value;
        }
      }
    }
  }

  std::vector<Cover> columns;
  for (int64_t x = 0; x < width; ++x) columns.push_back(cover_of(x, across, step, overlap));
  for (int64_t r = 0; r < world; ++r) {
    const int64_t first = height * r / world, rows = height * (r + 1) / world - first;
    Output image = c.output("image", static_cast<int>(r));
    for (int64_t o = 0; o < 3; ++o) {
      for (int64_t t = 0; t < rows; ++t) {
        const Cover vertical = cover_of(first + t, down, step, overlap);
        // Row `y` of the tiles in row `a`, at the place of a column.
        const auto in_row = [&](int64_t a, int64_t y, const Cover& column) {
          const Value* line =
              &decoded[static_cast<size_t>((((a * across + column.last) * 3 + o) * pixels + y) * pixels)];
          if (column.share == 1) return line[column.at];
          return between(line[column.at + step - 3 * pixels * pixels], line[column.at], column.share);
        };
        for (int64_t x = 0; x < width; ++x) {
          const Cover& column = columns[static_cast<size_t>(x)];
          Value value = in_row(vertical.last, vertical.at, column);
          if (vertical.share < 1)
            value = between(in_row(vertical.last - 1, vertical.at + step, column), value, vertical.share);
          image.set((o * rows + t) * width + x, value.at, value.error);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
