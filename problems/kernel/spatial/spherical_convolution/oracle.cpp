#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

// Each number of a filter belongs to a latitude of the output that is drawn, the poles more often than others: there
// are latitudes without any. The points are anywhere.
void fill(Case& c) {
  const int64_t latitudes = c["lats"] * (c.world() / c["azimuth"]), longitudes = c["lons"] * c["azimuth"];
  const int64_t basis = c["basis"];
  const auto start = c.input<int32_t>("start", 0), tap_lat = c.input<int32_t>("tap_lat", 0),
             tap_lon = c.input<int32_t>("tap_lon", 0);
  std::fill(start.begin(), start.end(), 0);
  for (size_t t = 0; t < tap_lat.size(); ++t) {
    const int64_t pole = c.random.below(2) * (latitudes - 1);
    const int64_t i = c.random.below(16) == 0 ? pole : c.random.below(latitudes);
    ++start[static_cast<size_t>(c.random.below(basis) * latitudes + i + 1)];
    tap_lat[t] = static_cast<int32_t>(c.random.below(latitudes));
    tap_lon[t] = static_cast<int32_t>(c.random.below(longitudes));
  }
  for (size_t row = 1; row < start.size(); ++row) start[row] += start[row - 1];
}

// A term of the output is a product of three numbers of f32. Whatever is multiplied and summed first, over filters'
// numbers, channels and ranks: it takes part in two products, and in at most as many additions as a point of the output
// has numbers of filters, channels times filters, and one for the bias. So with u = 2^-24 a result is off by at most
// (number of roundings) u / (1 - …) times the sum of the terms' magnitudes.
void expect(Case& c) {
  const int64_t channels = c["channels"], features = c["features"], basis = c["basis"], azimuth = c["azimuth"];
  const int64_t lats = c["lats"], lons = c["lons"], latitudes = lats * (c.world() / azimuth),
                longitudes = lons * azimuth;
  const float *tap = c.input<float>("tap", 0).data(), *weight = c.input<float>("weight", 0).data(),
              *bias = c.input<float>("bias", 0).data();
  const int32_t *start = c.input<int32_t>("start", 0).data(), *tap_lat = c.input<int32_t>("tap_lat", 0).data(),
                *tap_lon = c.input<int32_t>("tap_lon", 0).data();

  // The whole grid, each latitude twice in a row: nothing wraps around.
  std::vector<double> grid(static_cast<size_t>(channels * latitudes * 2 * longitudes));
  for (int r = 0; r < c.world(); ++r) {
    const float* x = c.input<float>("x", r).data();
    for (int64_t ch = 0; ch < channels; ++ch) {
      for (int64_t i = 0; i < lats; ++i) {
        double* row = &grid[static_cast<size_t>((ch * latitudes + r / azimuth * lats + i) * 2 * longitudes)];
        for (int64_t j = 0; j < lons; ++j, ++x) {
          const int64_t longitude = r % azimuth * lons + j;
          row[longitude] = row[longitude + longitudes] = *x;
        }
      }
    }
  }

  const int64_t depth = channels * basis;
  const auto count = static_cast<size_t>(depth * longitudes);
  std::vector<double> sums(count), magnitudes(count);
  for (int64_t i = 0; i < latitudes; ++i) {
    int64_t numbers = 0;
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(magnitudes.begin(), magnitudes.end(), 0);
    for (int64_t k = 0; k < basis; ++k) {
      for (int64_t t = start[k * latitudes + i]; t < start[k * latitudes + i + 1]; ++t, ++numbers) {
        for (int64_t ch = 0; ch < channels; ++ch) {
          const double* row = &grid[static_cast<size_t>((ch * latitudes + tap_lat[t]) * 2 * longitudes + tap_lon[t])];
          const auto at = static_cast<size_t>((ch * basis + k) * longitudes);
          for (size_t j = 0; j < static_cast<size_t>(longitudes); ++j) {
            const double term = static_cast<double>(tap[t]) * row[j];
            sums[at + j] += term;
            magnitudes[at + j] += std::fabs(term);
          }
        }
      }
    }
    Product mixed(features, longitudes), sizes(features, longitudes);
    mixed.add(
        depth, [&](int64_t o, int64_t l) { return weight[o * depth + l]; },
        [&](int64_t l, int64_t j) { return sums[static_cast<size_t>(l * longitudes + j)]; });
    sizes.add(
        depth, [&](int64_t o, int64_t l) { return std::fabs(weight[o * depth + l]); },
        [&](int64_t l, int64_t j) { return magnitudes[static_cast<size_t>(l * longitudes + j)]; });
    const double error = static_cast<double>(2 + numbers + depth + 1) * unit_roundoff(DType::f32);
    for (int64_t a = 0; a < azimuth; ++a) {
      Output out = c.output("out", static_cast<int>(i / lats * azimuth + a));
      for (int64_t o = 0; o < features; ++o) {
        for (int64_t j = 0; j < lons; ++j) {
          const double magnitude = sizes.value(o, a * lons + j) + std::fabs(bias[o]);
          out.set((o * lats + i % lats) * lons + j, mixed.value(o, a * lons + j) + bias[o],
                  error / (1 - error) * magnitude);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
