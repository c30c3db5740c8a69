#include "virtual_node/fabric/cublas_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace fb::fabric {
namespace {

constexpr std::array<std::string_view, 6> kMath = {"half", "tf32", "fp8", "int8", "f32", "f64"};
constexpr uint32_t kMostSplit = 16;
constexpr uint64_t kLeastDepth = 256;          // of a part of a split product
constexpr uint64_t kDepthBytes = 128;          // of a row of a tile in shared memory: the unit of k
constexpr uint64_t kStreamedBytes = 32 << 10;  // of a block that streams

double seconds(Time t) { return static_cast<double>(t) * 1e-12; }
Time picoseconds(double s) { return static_cast<Time>(std::llround(s * 1e12)); }
uint64_t pieces(uint64_t all, uint64_t piece) { return (all + piece - 1) / piece; }

struct Tile {
  uint32_t m, n, threads;
  double share;  // of the rate of the largest
};

std::array<Tile, 5> tiles_of(const platform::Platform::Cublas& c) {
  return {{{128, 256, 384, 1},
           {128, 128, 384, c.tile_128x128},
           {128, 64, 256, c.tile_128x64},
           {64, 64, 128, c.tile_64x64},
           {64, 32, 128, c.tile_64x32}}};
}

double products(const platform::Platform& p, GemmMath math) {
  switch (math) {
    case GemmMath::half:
      return p.tensor.products;
    case GemmMath::tf32:
      return p.cublas.tf32_products;
    case GemmMath::fp8:
      return p.cublas.fp8_products;
    case GemmMath::int8:
      return p.cublas.int8_products;
    case GemmMath::f32:
      return p.units.fma;
    case GemmMath::f64:
      return p.cublas.f64_products;
  }
  return 1;
}

double share(const platform::Platform& p, GemmMath math) {
  switch (math) {
    case GemmMath::fp8:
    case GemmMath::int8:
      return p.cublas.byte_share;
    case GemmMath::f32:
      return p.cublas.f32_share;
    case GemmMath::f64:
      return p.cublas.f64_share;
    default:
      return p.cublas.share;
  }
}

double rate_of_multiprocessor(const platform::Platform& p, GemmMath math) {
  return 2 * products(p, math) * p.device.clock;
}

struct Model {
  const platform::Platform& p;
  const GemmQuestion& q;

  // Each wave reads the rows and columns of its tiles once, and what L2 keeps from the wave before not again.
  uint64_t memory_bytes(uint32_t tile_m, uint32_t tile_n) const {
    const double each = static_cast<double>(q.element_bytes) * static_cast<double>(q.k);
    const double once = static_cast<double>(q.m + q.n) * each;
    double read = once;
    if (once > static_cast<double>(p.memory.l2_size)) {
      const double rows = static_cast<double>(pieces(q.m, tile_m)), columns = static_cast<double>(pieces(q.n, tile_n));
      const double together = p.device.sms;
      // As square as the matrix allows.
      const double high = std::clamp(std::sqrt(together * tile_n / tile_m), 1.0, rows);
      const double wide = std::clamp(together / high, 1.0, columns);
      const double waves = std::ceil(rows / high) * std::ceil(columns / wide);
      read = std::max(once, waves * (high * tile_m + wide * tile_n) * each);
    }
    const double result = static_cast<double>(q.m) * static_cast<double>(q.n) * q.result_bytes;
    return static_cast<uint64_t>(static_cast<double>(q.batches) * (read + (q.reads_result ? 2 : 1) * result));
  }

  CublasPlan plan(const Tile& tile, bool turned, uint32_t split) const {
    const platform::Platform::Cublas& c = p.cublas;
    CublasPlan plan;
    plan.tile_m = turned ? tile.n : tile.m;
    plan.tile_n = turned ? tile.m : tile.n;
    plan.split = split;
    plan.threads = tile.threads;
    plan.blocks = q.batches * pieces(q.m, plan.tile_m) * pieces(q.n, plan.tile_n) * split;
    plan.start = c.start;
    const uint64_t unit = std::max<uint64_t>(1, kDepthBytes / q.element_bytes);
    const uint64_t depth = pieces(pieces(q.k, split), unit) * unit;
    const double area = static_cast<double>(tile.m) * tile.n;
    const double rate = rate_of_multiprocessor(p, q.math) * share(p, q.math) * tile.share;
    const uint32_t stored = split == 1 ? q.result_bytes : 4;
    plan.block = c.fill + picoseconds(2 * area * static_cast<double>(depth) / rate + area * stored / c.store_bandwidth);
    const double through_l2 = static_cast<double>(tile.m + tile.n) * static_cast<double>(depth) * q.element_bytes;
    plan.l2_bytes = static_cast<uint64_t>(static_cast<double>(plan.blocks) * through_l2 * c.l2_share);
    plan.memory_bytes = memory_bytes(plan.tile_m, plan.tile_n);
    if (split > 1) {
      const double sums = static_cast<double>(q.batches * q.m * q.n) * (4.0 * split + q.result_bytes);
      plan.tail = c.split + picoseconds(sums / (p.memory.bandwidth * c.memory_share));
    }
    return plan;
  }
};

}  // namespace

std::string_view name_of(GemmMath math) { return kMath[static_cast<size_t>(math)]; }

std::optional<GemmMath> gemm_math_from(std::string_view name) {
  const auto found = std::ranges::find(kMath, name);
  if (found == kMath.end()) return std::nullopt;
  return static_cast<GemmMath>(found - kMath.begin());
}

double peak_rate(const platform::Platform& p, GemmMath math) { return rate_of_multiprocessor(p, math) * p.device.sms; }

Time time_of(const platform::Platform& p, const CublasPlan& plan) {
  const Time blocks = plan.waves(p.device.sms) * plan.block;
  const double memory = static_cast<double>(plan.memory_bytes) / (p.memory.bandwidth * p.cublas.memory_share);
  const double l2 = static_cast<double>(plan.l2_bytes) / p.cache.l2_bandwidth;
  return plan.start + std::max(blocks, picoseconds(std::max(memory, l2))) + plan.tail;
}

std::vector<CublasPlan> gemm_plans(const platform::Platform& p, const GemmQuestion& q) {
  const Model model{p, q};
  std::vector<CublasPlan> all;
  for (const Tile& tile : tiles_of(p.cublas)) {
    for (const bool turned : {false, true}) {
      if (turned && tile.m == tile.n) continue;
      for (uint32_t split = 1; split <= kMostSplit; split *= 2) {
        const CublasPlan plan = model.plan(tile, turned, split);
        if (split > 1 && (!q.may_split || q.k / split < kLeastDepth || plan.blocks > p.device.sms)) break;
        all.push_back(plan);
      }
    }
  }
  // Of equals the larger tile: it is the first.
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t k) { return std::pair(time_of(p, all[k]), k); });
  std::vector<CublasPlan> sorted;
  for (const size_t k : order) sorted.push_back(all[k]);
  return sorted;
}

CublasPlan choose_gemm(const platform::Platform& p, const GemmQuestion& q) { return gemm_plans(p, q).front(); }

CublasPlan plan_streaming(const platform::Platform& p, uint64_t bytes, bool reduces) {
  CublasPlan plan;
  plan.start = p.cublas.vector_start;
  if (reduces) plan.tail = p.cublas.reduce;
  plan.blocks = std::clamp<uint64_t>(bytes / kStreamedBytes, 1, p.device.sms);
  const double each = static_cast<double>(bytes) / static_cast<double>(plan.blocks);
  plan.block = picoseconds(seconds(p.memory.latency) + each / p.cublas.store_bandwidth);
  plan.l2_bytes = plan.memory_bytes = bytes;
  return plan;
}

}  // namespace fb::fabric
