// The model of NCCL's time against public measurements, and its shape.
#include "virtual_node/fabric/nccl_model.h"

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
// Curves that the constants were fitted on; curves of the same kind of measurement that were set aside before; and of
// other kinds, which say how far the model reaches.
enum class Use : uint8_t { fit, held_out, other };

struct Measured {
  const char* id;
  const char* platform;
  NcclOp op;
  uint32_t gpus;
  Use use;
  std::optional<NcclAlgorithm> forced;
  std::vector<Point> points;
  uint32_t nodes = 1;
  uint32_t calls = 1;               // one after the other, of so many parts
  std::optional<NcclOp> then = {};  // follows each of them
  // Of a program that waits for each call: what the host takes to call, launch and notice the end.
  double host = 0;
};

// platforms/calibration/nccl.cu: 6.4 us of launch and notice on b300x8, and 12 us of torch.distributed
// (platforms/calibration/curves.toml).
constexpr double kHostOfPython = 18.4;

// No file has it: b300x8 with the cards of h100x8_2nodes.
constexpr const char* kTwoNodesOfB200 = "two nodes of b300x8";

const std::vector<Measured>& measured() {
  static const std::vector<Measured> kCurves = {
      // Azure/AI-benchmarking-guide, ND H100 v5, NCCL 2.18.5; the publisher forces NVLS.
      {"nccl_all_reduce_8_h100",
       "h100x8",
       NcclOp::all_reduce,
       8,
       Use::fit,
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
       Use::fit,
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
       Use::fit,
       std::nullopt,
       {{8388608, 53.5}, {33554432, 86.0}, {134217728, 284.0}, {536870912, 996.0}, {2147483648, 3662.0}},
       1,
       1,
       {},
       kHostOfPython},
      {"all_reduce_nccl_2_small",
       "b300x8",
       NcclOp::all_reduce,
       2,
       Use::held_out,
       std::nullopt,
       {{16384, 25.3}, {262144, 26.9}, {4194304, 38.0}, {16777216, 54.2}, {67108864, 150.2}},
       1,
       1,
       {},
       kHostOfPython},
      {"reduce_scatter_nccl_2",
       "b300x8",
       NcclOp::reduce_scatter,
       2,
       Use::held_out,
       std::nullopt,
       {{16777216, 43.9}, {67108864, 100.6}, {268435456, 329.5}, {536870912, 625.1}},
       1,
       1,
       {},
       kHostOfPython},
      // CommBench 87 and 84: programs of vLLM in Python, several calls each; MB taken as MiB.
      {"broadcast_10_tensors_2",
       "b300x8",
       NcclOp::broadcast,
       2,
       Use::other,
       std::nullopt,
       {{1048576, 169.323}, {16777216, 183.804}, {67108864, 305.834}, {268435456, 601.372}},
       1,
       10},
      {"gather_and_scatter_4",
       "b300x8",
       NcclOp::all_gather,
       4,
       Use::other,
       std::nullopt,
       {{524288, 133.364}, {2097152, 126.801}, {8388608, 230.572}, {33554432, 484.521}},
       1,
       1,
       NcclOp::reduce_scatter},
      // Public notes on two DGX H100 with InfiniBand; sizes between these were disturbed there.
      {"all_reduce_16_2_nodes",
       "h100x8_2nodes",
       NcclOp::all_reduce,
       16,
       Use::other,
       std::nullopt,
       {{16, 39.09},
        {64, 38.8},
        {512, 39.28},
        {1024, 39.56},
        {4096, 40.82},
        {536870912, 3345.7},
        {1073741824, 5961.9},
        {2147483648, 9270.2},
        {4294967296, 17662},
        {8589934592, 34409},
        {17179869184, 68195}},
       2},
      // Public notes on GKE with two nodes of 8x B200, eight RoCE cards of 400 Gb/s each, out of place.
      {"all_reduce_16_2_nodes_b200",
       kTwoNodesOfB200,
       NcclOp::all_reduce,
       16,
       Use::other,
       std::nullopt,
       {{8388608, 158.8},
        {16777216, 193.2},
        {33554432, 291},
        {67108864, 483.3},
        {134217728, 714.1},
        {268435456, 1114.8},
        {536870912, 1808.9},
        {1073741824, 3328.7},
        {2147483648, 6171.1},
        {4294967296, 12219},
        {8589934592, 23842},
        {17179869184, 47062}},
       2},
      // nccl-tests on 8x H20, which have the links of an H100 (deepseek-ai/DeepEP issue 303), in place: calls follow
      // each
      // other without a wait.
      {"all_reduce_8_h20_small",
       "h100x8",
       NcclOp::all_reduce,
       8,
       Use::other,
       std::nullopt,
       {{64, 14.39}, {128, 15.31}, {256, 15.39}, {512, 15.55}, {1024, 15.71}, {2048, 15.84}}},
  };
  return kCurves;
}

platform::Platform platform(const char* name) {
  const bool two_nodes = name == kTwoNodesOfB200;
  auto loaded = platform::load_platform(two_nodes ? "b300x8" : name);
  EXPECT_TRUE(loaded);
  if (two_nodes) {
    loaded->node.nodes = 2;
    loaded->nic = platform::load_platform("h100x8_2nodes").value().nic;
  }
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
  std::vector<double> fit, held_out, other, two_nodes;
  for (const Measured& m : measured()) {
    const platform::Platform p = platform(m.platform);
    for (const Point& point : m.points) {
      auto q = question(m.op, m.gpus, point.bytes / m.calls);
      q.nodes = m.nodes;
      const auto choices = nccl_choices(p, q);
      const auto chosen = m.forced ? std::ranges::find(choices, *m.forced, &NcclChoice::algorithm) : choices.begin();
      ASSERT_NE(chosen, choices.end());
      double time = m.host + m.calls * microseconds(chosen->time());
      if (m.then) {
        q.op = *m.then;
        time += microseconds(choose_nccl(p, q).time());
      }
      const double error = time / point.microseconds - 1;
      fmt::print("{:<26} {:>12} B  measured {:>9.1f} us  modelled {:>9.1f} us  {:+6.1f} %  {} {}\n", m.id, point.bytes,
                 point.microseconds, time, 100 * error, name_of(chosen->algorithm), name_of(chosen->protocol));
      if (m.nodes == 2) two_nodes.push_back(std::abs(error));
      (m.use == Use::fit ? fit : m.use == Use::held_out ? held_out : other).push_back(std::abs(error));
    }
  }
  fmt::print("fit: median {:.1f} %; held out: median {:.1f} %, p90 {:.1f} %; other: median {:.1f} %, p90 {:.1f} %\n",
             100 * at_share(fit, 0.5), 100 * at_share(held_out, 0.5), 100 * at_share(held_out, 0.9),
             100 * at_share(other, 0.5), 100 * at_share(other, 0.9));
  EXPECT_LE(at_share(fit, 0.5), 0.08);
  EXPECT_LE(at_share(held_out, 0.5), 0.15);
  EXPECT_LE(at_share(held_out, 0.9), 0.30);
  EXPECT_LE(at_share(two_nodes, 0.5), 0.15);
}

TEST(NcclModel, LargerSizesTakeLonger) {
  for (const char* name : {"h100x8", "b300x8", "pcie_x4"}) {
    const platform::Platform p = platform(name);
    for (const NcclOp op : kNcclOps) {
      Time before = 0;
      for (uint64_t bytes = 8; bytes <= uint64_t{1} << 33; bytes *= 2) {
        const Time time = choose_nccl(p, question(op, p.node.devices, bytes)).time();
        EXPECT_GE(time, before) << name << " " << name_of(op) << " " << bytes;
        before = time;
      }
    }
  }
}

TEST(NcclModel, SmallSizesUseLlAndLargeOnesTheSwitch) {
  const platform::Platform p = platform("h100x8");
  EXPECT_EQ(choose_nccl(p, question(NcclOp::all_reduce, 8, 1024)).protocol, NcclProtocol::ll);
  EXPECT_EQ(choose_nccl(p, question(NcclOp::all_reduce, 8, 1 << 30)).algorithm, NcclAlgorithm::nvls);
  EXPECT_EQ(choose_nccl(p, question(NcclOp::all_gather, 8, 1 << 30)).algorithm, NcclAlgorithm::ring);
  auto q = question(NcclOp::all_reduce, 8, 1 << 30);
  q.switch_reduces = false;
  EXPECT_EQ(choose_nccl(p, q).algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(choose_nccl(p, q).protocol, NcclProtocol::simple);
}

// Where NCCL's own tuner changes from one to the other on such nodes: flags in the data, then the switch; without it a
// ring whose protocols take turns. A tree is a chain on one node, and no better than a ring.
TEST(NcclModel, RegimesFollowEachOtherInTheRightOrder) {
  for (const char* name : {"h100x8", "b300x8"}) {
    const platform::Platform p = platform(name);
    for (const bool by_switch : {true, false}) {
      std::vector<std::pair<NcclAlgorithm, NcclProtocol>> regimes;
      for (uint64_t bytes = 8; bytes <= uint64_t{1} << 33; bytes *= 2) {
        auto q = question(NcclOp::all_reduce, 8, bytes);
        q.switch_reduces = by_switch;
        const NcclChoice c = choose_nccl(p, q);
        if (regimes.empty() || regimes.back() != std::pair(c.algorithm, c.protocol))
          regimes.emplace_back(c.algorithm, c.protocol);
      }
      EXPECT_EQ(regimes.front().second, NcclProtocol::ll) << name;
      EXPECT_EQ(regimes.back(), std::pair(by_switch ? NcclAlgorithm::nvls : NcclAlgorithm::ring, NcclProtocol::simple))
          << name;
      EXPECT_TRUE(std::ranges::is_sorted(regimes, {}, [](const auto& r) {
        return std::pair(r.first == NcclAlgorithm::nvls, r.second);
      })) << name;
      EXPECT_LE(regimes.size(), by_switch ? 3u : 4u) << name;
    }
  }
}

TEST(NcclModel, WindowsAreFaster) {
  const platform::Platform p = platform("h100x8");
  for (const uint64_t bytes : {uint64_t{4096}, uint64_t{1} << 20, uint64_t{1} << 28}) {
    auto q = question(NcclOp::all_reduce, 8, bytes);
    const Time plain = choose_nccl(p, q).time();
    q.in_windows = true;
    EXPECT_LT(choose_nccl(p, q).time(), plain) << bytes;
    EXPECT_EQ(choose_nccl(p, q).algorithm, NcclAlgorithm::symmetric) << bytes;
  }
}

TEST(NcclModel, FewerChannelsAreSlower) {
  const platform::Platform p = platform("h100x8");
  auto q = question(NcclOp::reduce_scatter, 8, 1 << 30);
  const Time all = choose_nccl(p, q).time();
  q.most_channels = 4;
  const NcclChoice few = choose_nccl(p, q);
  EXPECT_EQ(few.channels, 4u);
  EXPECT_GT(few.time(), 4 * all);
}

TEST(NcclModel, WithoutNvlinkThereIsNoSwitchAndNoLl128) {
  const platform::Platform p = platform("pcie_x4");
  for (uint64_t bytes = 8; bytes <= uint64_t{1} << 30; bytes *= 4) {
    for (const NcclChoice& c : nccl_choices(p, question(NcclOp::all_reduce, 4, bytes))) {
      EXPECT_NE(c.algorithm, NcclAlgorithm::nvls);
      EXPECT_NE(c.protocol, NcclProtocol::ll128);
    }
  }
}

TEST(NcclModel, NetworkCardsBoundWhatCrossesNodes) {
  const platform::Platform p = platform("h100x8_2nodes");
  auto q = question(NcclOp::all_reduce, 16, 1 << 30);
  q.nodes = 2;
  bool has_ring = false, has_tree = false;
  for (const NcclChoice& c : nccl_choices(p, q)) {
    const NcclNetwork net = nccl_network(p, 8);
    EXPECT_EQ(net.rails, 8u);
    EXPECT_GE(static_cast<double>(c.transfer) * 1e-12, static_cast<double>(c.card_bytes) / net.bandwidth);
    EXPECT_GE(c.latency, 2 * net.hop);
    has_ring = has_ring || c.algorithm == NcclAlgorithm::ring;
    has_tree = has_tree || c.algorithm == NcclAlgorithm::nvls_tree;
  }
  EXPECT_TRUE(has_ring && has_tree);
  EXPECT_EQ(choose_nccl(p, q).algorithm, NcclAlgorithm::nvls_tree)
      << "cards have half of a ring's bytes, links as well";
  q.op = NcclOp::all_gather;
  const NcclChoice c = choose_nccl(p, q);
  const double bus = static_cast<double>(q.bytes) * bus_factor(q.op, 16) / (static_cast<double>(c.time()) * 1e-12);
  EXPECT_LE(bus, nccl_network(p, 8).bandwidth * p.nic.per_node);
}

TEST(NcclModel, AHopBetweenNodesIsWhatCardsAndTheirThreadsTake) {
  const platform::Platform p = platform("h100x8_2nodes");
  const NcclNetwork net = nccl_network(p, 8);
  EXPECT_NEAR(microseconds(net.hop), 14, 0.1) << "NCCL's own figure";
  platform::Platform slower = p;
  slower.nic.wire += 5 * platform::kMicrosecond;
  auto q = question(NcclOp::send_receive, 2, 8);
  q.nodes = 2;
  EXPECT_EQ(choose_nccl(slower, q).latency - choose_nccl(p, q).latency, 5 * platform::kMicrosecond);
}

TEST(NcclModel, NamesOfOperationsAreFoundAgain) {
  for (const NcclOp op : kNcclOps) EXPECT_EQ(nccl_op_from(name_of(op)), op);
  EXPECT_EQ(nccl_op_from("all_reduces"), std::nullopt);
}

}  // namespace
}  // namespace fb::fabric
