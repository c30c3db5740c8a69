// The model of NCCL's time against public measurements, and its shape.
#include "fabric/nccl_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fb::fabric {
namespace {

struct Point {
  uint64_t bytes;
  double microseconds;
};
struct Measured {
  const char* id;
  const char* platform;
  NcclOp op;
  uint32_t gpus;
  bool fit;  // else set aside before anything was fitted: it only measures the error
  std::optional<NcclAlgorithm> forced;
  std::vector<Point> points;
};

const std::vector<Measured>& measured() {
  static const std::vector<Measured> kCurves = {
      // Azure/AI-benchmarking-guide, ND H100 v5, NCCL 2.18.5; the publisher forces NVLS.
      {"nccl_all_reduce_8_h100",
       "h100x8",
       NcclOp::all_reduce,
       8,
       true,
       NcclAlgorithm::nvls,
       {{65536, 42.16},
        {131072, 42.48},
        {262144, 42.24},
        {524288, 42.97},
        {1048576, 41.99},
        {2097152, 44.79},
        {4194304, 57.02},
        {8388608, 85.28},
        {16777216, 125.2},
        {33554432, 198.7},
        {67108864, 324.6},
        {134217728, 586.3},
        {268435456, 1110},
        {536870912, 2143},
        {1073741824, 4029},
        {2147483648, 7956},
        {4294967296, 15810},
        {8589934592, 31390}}},
      // Public notes on GKE A4 (8x B200, the same links as b300x8), out of place, one process.
      {"nccl_all_reduce_8_b200",
       "b300x8",
       NcclOp::all_reduce,
       8,
       true,
       std::nullopt,
       {{8388608, 80.32},
        {16777216, 110.5},
        {33554432, 172.6},
        {67108864, 280},
        {134217728, 396.9},
        {268435456, 714.7},
        {536870912, 1335.6},
        {1073741824, 2576.7},
        {2147483648, 5102.4},
        {4294967296, 10171},
        {8589934592, 17899},
        {17179869184, 35561}}},
      // uccl-project/CommBench 22, 99 and 23, 8x B300.
      {"all_reduce_nccl_2",
       "b300x8",
       NcclOp::all_reduce,
       2,
       true,
       std::nullopt,
       {{8388608, 53.5}, {33554432, 86.0}, {134217728, 284.0}, {536870912, 996.0}, {2147483648, 3662.0}}},
      {"all_reduce_nccl_2_small",
       "b300x8",
       NcclOp::all_reduce,
       2,
       false,
       std::nullopt,
       {{16384, 25.3}, {262144, 26.9}, {4194304, 38.0}, {16777216, 54.2}, {67108864, 150.2}}},
      {"reduce_scatter_nccl_2",
       "b300x8",
       NcclOp::reduce_scatter,
       2,
       false,
       std::nullopt,
       {{16777216, 43.9}, {67108864, 100.6}, {268435456, 329.5}, {536870912, 625.1}}},
  };
  return kCurves;
}

Platform platform(const char* name) {
  const auto loaded = load_platform(name);
  EXPECT_TRUE(loaded);
  return *loaded;
}

double microseconds(Time t) { return static_cast<double>(t) * 1e-6; }

NcclQuestion question(NcclOp op, uint32_t ranks, uint64_t bytes) {
  NcclQuestion q;
  q.op = op;
  q.ranks = ranks;
  q.bytes = bytes;
  return q;
}

double at_share(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

TEST(NcclModel, ErrorsAgainstMeasuredTimesAreWithinTheirBounds) {
  std::vector<double> fit, held_out;
  for (const Measured& m : measured()) {
    const Platform p = platform(m.platform);
    for (const Point& point : m.points) {
      const auto choices = nccl_choices(p, question(m.op, m.gpus, point.bytes));
      const auto chosen = m.forced ? std::ranges::find(choices, *m.forced, &NcclChoice::algorithm) : choices.begin();
      ASSERT_NE(chosen, choices.end());
      const double time = microseconds(chosen->time()), error = time / point.microseconds - 1;
      fmt::print("{:<26} {:>12} B  measured {:>9.1f} us  modelled {:>9.1f} us  {:+6.1f} %  {} {}\n", m.id, point.bytes,
                 point.microseconds, time, 100 * error, name_of(chosen->algorithm), name_of(chosen->protocol));
      (m.fit ? fit : held_out).push_back(std::abs(error));
    }
  }
  fmt::print("fit: median {:.1f} %; held out: median {:.1f} %, p90 {:.1f} %\n", 100 * at_share(fit, 0.5),
             100 * at_share(held_out, 0.5), 100 * at_share(held_out, 0.9));
  EXPECT_LE(at_share(fit, 0.5), 0.08);
  EXPECT_LE(at_share(held_out, 0.5), 0.15);
  EXPECT_LE(at_share(held_out, 0.9), 0.30);
}

TEST(NcclModel, LargerSizesTakeLonger) {
  for (const char* name : {"h100x8", "b300x8", "pcie_x4"}) {
    const Platform p = platform(name);
    for (int op = 0; op <= static_cast<int>(NcclOp::send_receive); ++op) {
      Time before = 0;
      for (uint64_t bytes = 8; bytes <= uint64_t{1} << 33; bytes *= 2) {
        const Time time = choose_nccl(p, question(static_cast<NcclOp>(op), p.node.devices, bytes)).time();
        EXPECT_GE(time, before) << name << " " << name_of(static_cast<NcclOp>(op)) << " " << bytes;
        before = time;
      }
    }
  }
}

TEST(NcclModel, SmallSizesUseLlAndLargeOnesTheSwitch) {
  const Platform p = platform("h100x8");
  EXPECT_EQ(choose_nccl(p, question(NcclOp::all_reduce, 8, 1024)).protocol, NcclProtocol::ll);
  EXPECT_EQ(choose_nccl(p, question(NcclOp::all_reduce, 8, 1 << 30)).algorithm, NcclAlgorithm::nvls);
  EXPECT_EQ(choose_nccl(p, question(NcclOp::all_gather, 8, 1 << 30)).algorithm, NcclAlgorithm::ring);
  auto q = question(NcclOp::all_reduce, 8, 1 << 30);
  q.switch_reduces = false;
  EXPECT_EQ(choose_nccl(p, q).algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(choose_nccl(p, q).protocol, NcclProtocol::simple);
}

TEST(NcclModel, WindowsAreFaster) {
  const Platform p = platform("h100x8");
  for (const uint64_t bytes : {uint64_t{4096}, uint64_t{1} << 20, uint64_t{1} << 28}) {
    auto q = question(NcclOp::all_reduce, 8, bytes);
    const Time plain = choose_nccl(p, q).time();
    q.in_windows = true;
    EXPECT_LT(choose_nccl(p, q).time(), plain) << bytes;
    EXPECT_EQ(choose_nccl(p, q).algorithm, NcclAlgorithm::symmetric) << bytes;
  }
}

TEST(NcclModel, FewerChannelsAreSlower) {
  const Platform p = platform("h100x8");
  auto q = question(NcclOp::reduce_scatter, 8, 1 << 30);
  const Time all = choose_nccl(p, q).time();
  q.most_channels = 4;
  const NcclChoice few = choose_nccl(p, q);
  EXPECT_EQ(few.channels, 4u);
  EXPECT_GT(few.time(), 4 * all);
}

TEST(NcclModel, WithoutNvlinkThereIsNoSwitchAndNoLl128) {
  const Platform p = platform("pcie_x4");
  for (uint64_t bytes = 8; bytes <= uint64_t{1} << 30; bytes *= 4) {
    for (const NcclChoice& c : nccl_choices(p, question(NcclOp::all_reduce, 4, bytes))) {
      EXPECT_NE(c.algorithm, NcclAlgorithm::nvls);
      EXPECT_NE(c.protocol, NcclProtocol::ll128);
    }
  }
}

TEST(NcclModel, NetworkCardsBoundWhatCrossesNodes) {
  const Platform p = platform("h100x8_2nodes");
  auto q = question(NcclOp::all_reduce, 16, 1 << 30);
  q.nodes = 2;
  const NcclChoice c = choose_nccl(p, q);
  const double bus = static_cast<double>(q.bytes) * bus_factor(q.op, 16) / (static_cast<double>(c.time()) * 1e-12);
  EXPECT_LE(bus, p.nic.bandwidth * p.nic.per_node);
}

TEST(NcclModel, NamesOfOperationsAreFoundAgain) {
  for (int op = 0; op <= static_cast<int>(NcclOp::send_receive); ++op)
    EXPECT_EQ(nccl_op_from(name_of(static_cast<NcclOp>(op))), static_cast<NcclOp>(op));
  EXPECT_EQ(nccl_op_from("all_reduces"), std::nullopt);
}

}  // namespace
}  // namespace fb::fabric
