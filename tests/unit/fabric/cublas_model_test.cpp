// The model of cuBLAS's time against public measurements, and its shape.
#include "virtual_node/fabric/cublas_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fb::fabric {
namespace {

struct Point {
  uint64_t m, n, k, batches;
  double microseconds;
};

// XLA's default_matmul_perf_table.txtpb, sm_90, bf16: medians of kernels' times on H100, by whatever kernel XLA took.
// Cubes are held to 15 % each.
const std::vector<Point> kCubes = {
    {512, 512, 512, 1, 6.16},
    {1024, 1024, 1024, 1, 8.50},
    {2048, 2048, 2048, 1, 26.80},
    {4096, 4096, 4096, 1, 176.16},
    // pranjalssh/fast.cu, cuBLAS at 795 TFLOPS; waynehacking8/blackwell-tensorcore-kernels, f16 at 761.7 and 749.9.
    {8192, 8192, 8192, 1, 1383},
    {8192, 8192, 8192, 1, 1443},
    {8192, 8192, 8192, 1, 1466},
};
// Batches of 1 and 4, drawn at random from 250: the constants were fitted on those.
const std::vector<Point> kFitted = {
    {256, 1024, 512, 1, 6.13},     {256, 2048, 256, 1, 6.13},     {256, 2048, 1024, 1, 7.58},
    {512, 512, 256, 1, 5.68},      {512, 512, 2048, 1, 9.23},     {512, 1024, 4096, 1, 14.27},
    {512, 2048, 256, 1, 6.35},     {1024, 256, 2048, 1, 9.25},    {1024, 512, 512, 1, 6.37},
    {1024, 1024, 2048, 1, 11.94},  {1024, 2048, 4096, 1, 25.81},  {2048, 2048, 4096, 1, 45.68},
    {2048, 4096, 2048, 1, 47.36},  {4096, 256, 256, 1, 6.35},     {4096, 1024, 512, 1, 12.11},
    {4096, 1024, 4096, 1, 45.71},  {4096, 2048, 4096, 1, 90.50},  {256, 2048, 2048, 4, 17.38},
    {256, 4096, 1024, 4, 17.47},   {512, 256, 256, 4, 6.00},      {512, 256, 4096, 4, 13.52},
    {512, 2048, 1024, 4, 17.38},   {1024, 256, 512, 4, 7.52},     {1024, 512, 2048, 4, 16.32},
    {1024, 2048, 2048, 4, 47.65},  {2048, 256, 256, 4, 7.49},     {2048, 1024, 256, 4, 14.14},
    {2048, 1024, 512, 4, 19.04},   {2048, 4096, 2048, 4, 182.93}, {4096, 256, 2048, 4, 29.78},
    {4096, 512, 256, 4, 14.13},    {4096, 512, 2048, 4, 48.38},   {4096, 1024, 256, 4, 21.66},
    {4096, 1024, 4096, 4, 177.68}, {4096, 2048, 2048, 4, 181.28}, {4096, 4096, 512, 4, 110.77},
};
// Batches of 2, set aside before anything was fitted, drawn at random from 125.
const std::vector<Point> kHeldOut = {
    {256, 256, 256, 2, 5.44},     {256, 256, 4096, 2, 11.57},   {256, 512, 2048, 2, 8.58},
    {256, 512, 4096, 2, 11.28},   {256, 1024, 2048, 2, 9.74},   {256, 4096, 512, 2, 9.09},
    {512, 256, 256, 2, 5.71},     {512, 256, 2048, 2, 9.38},    {512, 512, 256, 2, 5.95},
    {512, 1024, 256, 2, 6.59},    {512, 1024, 1024, 2, 8.58},   {512, 4096, 4096, 2, 45.95},
    {1024, 512, 512, 2, 7.15},    {1024, 4096, 2048, 2, 47.62}, {2048, 512, 1024, 2, 11.23},
    {2048, 1024, 4096, 2, 45.73}, {2048, 4096, 256, 2, 21.65},  {2048, 4096, 4096, 2, 178.08},
    {4096, 256, 2048, 2, 16.37},  {4096, 512, 1024, 2, 17.33},  {4096, 1024, 256, 2, 13.94},
    {4096, 1024, 512, 2, 18.96},  {4096, 2048, 1024, 2, 50.21}, {4096, 2048, 2048, 2, 94.06},
};
// cuBLASLt by DeepGEMM's benchmark (time of DeepGEMM and ratio), as waynehacking8 ran it, caches flushed.
const std::vector<Point> kFewRows = {
    {1, 2112, 7168, 1, 18.1},   {1, 7168, 2048, 1, 16.2},   {128, 2112, 7168, 1, 20.3},   {128, 7168, 16384, 1, 97.0},
    {128, 4096, 7168, 1, 30.7}, {128, 7168, 2048, 1, 16.6}, {4096, 7168, 16384, 1, 1155}, {4096, 4096, 7168, 1, 291},
};

platform::Platform platform(const char* name) {
  const auto loaded = platform::load_platform(name);
  EXPECT_TRUE(loaded);
  return *loaded;
}

GemmQuestion question(GemmMath math, const Point& p) {
  GemmQuestion q;
  q.math = math;
  q.m = p.m;
  q.n = p.n;
  q.k = p.k;
  q.batches = p.batches;
  return q;
}

double modelled(const platform::Platform& p, const GemmQuestion& q) {
  return static_cast<double>(time_of(p, choose_gemm(p, q))) * 1e-6;
}

std::vector<double> errors_of(const char* name, const std::vector<Point>& points, GemmMath math = GemmMath::half) {
  const platform::Platform p = platform("h100x8");
  std::vector<double> errors;
  for (const Point& point : points) {
    GemmQuestion q = question(math, point);
    if (math == GemmMath::fp8) q.element_bytes = 1;
    const double t = modelled(p, q);
    fmt::print("{:<10} {:>2} x {:>5} x {:>5} x {:>5}: {:>8.2f} us, measured {:>8.2f}, {:>+5.1f} %\n", name,
               point.batches, point.m, point.n, point.k, t, point.microseconds, 100 * (t / point.microseconds - 1));
    errors.push_back(std::abs(t / point.microseconds - 1));
  }
  std::ranges::sort(errors);
  return errors;
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

TEST(CublasModel, cubes_are_within_15_percent) { EXPECT_LE(errors_of("cube", kCubes).back(), 0.15); }

TEST(CublasModel, fitted_points_are_close) {
  const auto errors = errors_of("fitted", kFitted);
  EXPECT_LE(at_share(errors, 0.5), 0.05);
  EXPECT_LE(at_share(errors, 0.9), 0.15);
}

TEST(CublasModel, held_out_points_are_within_15_percent) {
  const auto errors = errors_of("held out", kHeldOut);
  EXPECT_LE(at_share(errors, 0.5), 0.08);
  EXPECT_LE(at_share(errors, 0.9), 0.15);
}

TEST(CublasModel, products_with_few_rows_are_bound_by_memory) {
  const auto errors = errors_of("few rows", kFewRows);
  EXPECT_LE(at_share(errors, 0.5), 0.08);
  EXPECT_LE(errors.back(), 0.18);
}

TEST(CublasModel, fp8_is_close) {
  const std::vector<Point> points = {
      {1, 7168, 16384, 1, 52.7}, {1, 4096, 7168, 1, 16.2}, {4096, 4096, 7168, 1, 168.5}, {4096, 2112, 7168, 1, 96.7}};
  EXPECT_LE(errors_of("fp8", points, GemmMath::fp8).back(), 0.2);
}

TEST(CublasModel, nothing_is_faster_than_the_units_or_the_memory) {
  for (const char* name : {"h100x8", "b300x8", "pcie_x4"}) {
    const platform::Platform p = platform(name);
    for (const GemmMath math :
         {GemmMath::half, GemmMath::tf32, GemmMath::fp8, GemmMath::int8, GemmMath::f32, GemmMath::f64}) {
      const uint32_t size = math == GemmMath::f64                             ? 8
                            : math == GemmMath::half                          ? 2
                            : math == GemmMath::f32 || math == GemmMath::tf32 ? 4
                                                                              : 1;
      for (uint64_t m = 1; m <= 16384; m *= 4) {
        for (uint64_t k = 16; k <= 16384; k *= 8) {
          GemmQuestion q = question(math, {m, 4096, k, 1, 0});
          q.element_bytes = q.result_bytes = size;
          const double s = modelled(p, q) * 1e-6;
          const double flop = 2.0 * static_cast<double>(m * 4096 * k);
          const double bytes = static_cast<double>((m * k + k * 4096 + m * 4096) * size);
          EXPECT_LE(flop / s, peak_rate(p, math)) << name << " " << name_of(math) << " " << m << " " << k;
          EXPECT_LE(bytes / s, p.memory.bandwidth) << name << " " << name_of(math) << " " << m << " " << k;
        }
      }
    }
  }
}

TEST(CublasModel, types_are_in_their_order) {
  const platform::Platform p = platform("h100x8");
  const auto time = [&](GemmMath math, uint32_t size) {
    GemmQuestion q = question(math, {4096, 4096, 4096, 1, 0});
    q.element_bytes = q.result_bytes = size;
    return modelled(p, q);
  };
  EXPECT_LT(time(GemmMath::fp8, 1), 0.7 * time(GemmMath::half, 2));
  EXPECT_NEAR(time(GemmMath::tf32, 4) / 340.9, 1, 0.15);  // 403 TFLOPS, the same table
  EXPECT_GT(time(GemmMath::f64, 8), time(GemmMath::tf32, 4));
  EXPECT_NEAR(2 * 68.7e9 / time(GemmMath::f32, 4) * 1e-6 / 45.5, 1, 0.15);  // TFLOPS, waynehacking8
}

TEST(CublasModel, one_row_of_tiles_too_many_costs_a_wave) {
  const platform::Platform p = platform("h100x8");
  // 11 x 12 tiles of 128 x 256 fill 132 multiprocessors.
  const auto time = [&](uint64_t rows) {
    return modelled(p, question(GemmMath::half, {128 * rows, 256 * 12, 4096, 1, 0}));
  };
  EXPECT_GT(time(12), 1.3 * time(11));
  EXPECT_LT(time(11), 1.1 * time(10));
}

TEST(CublasModel, few_tiles_are_split_along_k_where_there_is_a_workspace) {
  const platform::Platform p = platform("h100x8");
  GemmQuestion q = question(GemmMath::half, {256, 256, 16384, 1, 0});
  const CublasPlan split = choose_gemm(p, q);
  EXPECT_GT(split.split, 1u);
  q.may_split = false;
  EXPECT_EQ(choose_gemm(p, q).split, 1u);
  EXPECT_GT(time_of(p, choose_gemm(p, q)), time_of(p, split));
}

TEST(CublasModel, streaming_is_bound_by_memory) {
  const platform::Platform p = platform("h100x8");
  const double s = static_cast<double>(time_of(p, plan_streaming(p, uint64_t{1} << 30, false))) * 1e-12;
  EXPECT_NEAR(static_cast<double>(uint64_t{1} << 30) / s / p.memory.bandwidth, p.cublas.memory_share, 0.03);
}

}  // namespace
}  // namespace fb::fabric
