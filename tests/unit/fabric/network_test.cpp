#include "fabric/network.h"

#include <gtest/gtest.h>

#include "fabric/platform_files.h"

namespace fb::fabric {
namespace {

struct Cards : testing::Test {
  Platform platform = *load_platform("h100x8_2nodes");
  ShareLedger shares;
  Network network{platform, shares};
  static constexpr Time kStart = 1000 * kMicrosecond;

  Time one_way(uint64_t bytes, bool inlined) {
    const Time left = kStart + platform.nic.post + network.start(inlined);
    return network.send({.from = 0, .to = 8, .bytes = bytes, .mtu = 4096}, left).arrived + platform.nic.poll - kStart;
  }
};

double microseconds(Time t) { return static_cast<double>(t) / kMicrosecond; }

TEST_F(Cards, EightOnEachNode) {
  EXPECT_EQ(network.cards(), 16u);
  EXPECT_EQ(network.node_of(7), 0u);
  EXPECT_EQ(network.node_of(8), 1u);
}

TEST_F(Cards, LatencyOfSmallMessagesIsThatOfPublishedFigures) {
  EXPECT_NEAR(microseconds(one_way(2, true)), 1.27, 0.02);
  // There and back, the request and its payload being fetched: a small write with immediate data takes 2.97 us.
  const Time there = network.send({.from = 0, .to = 0, .bytes = 8, .mtu = 4096}, kStart).arrived;
  const Time back = network.send({.from = 0, .to = 0, .mtu = 4096}, there).arrived;
  EXPECT_NEAR(microseconds(back - kStart + platform.nic.post + platform.nic.poll + network.start(false)), 2.97, 0.02);
}

TEST_F(Cards, LargeMessagesReachTheBandwidthOfTheirDirection) {
  constexpr uint64_t kBytes = 64 << 20;
  const auto rate = [&](bool fetched, uint32_t from) {
    const auto flight =
        network.send({.from = from, .to = from + 8, .bytes = kBytes, .mtu = 4096, .fetched = fetched}, kStart);
    return static_cast<double>(kBytes) / (static_cast<double>(flight.arrived - kStart) * 1e-12);
  };
  EXPECT_NEAR(rate(false, 0), platform.nic.bandwidth, platform.nic.bandwidth / 100);
  EXPECT_NEAR(rate(true, 1), platform.nic.read_bandwidth, platform.nic.read_bandwidth / 100);
}

TEST_F(Cards, SmallPacketsCarryMoreHeaders) {
  const Time large = network.send({.from = 0, .to = 8, .bytes = 1 << 20, .mtu = 4096}, kStart).left;
  const Time small = network.send({.from = 1, .to = 9, .bytes = 1 << 20, .mtu = 256}, kStart).left;
  EXPECT_GT(small - kStart, (large - kStart) * 11 / 10);
  EXPECT_LT(small - kStart, (large - kStart) * 13 / 10);
}

TEST_F(Cards, TwoSendersShareAReceivingPortAndRailsDoNot) {
  constexpr uint64_t kBytes = 1 << 20;
  const Time alone = network.send({.from = 0, .to = 8, .bytes = kBytes, .mtu = 4096}, kStart).arrived - kStart;
  const Time rail = network.send({.from = 1, .to = 9, .bytes = kBytes, .mtu = 4096}, kStart).arrived - kStart;
  EXPECT_EQ(rail, alone);
  const Time shared = network.send({.from = 2, .to = 8, .bytes = kBytes, .mtu = 4096}, kStart).arrived - kStart;
  EXPECT_GT(shared, alone * 18 / 10);
}

TEST_F(Cards, TimesHaveShares) {
  shares.begin(kStart);
  const auto flight = network.send({.from = 3, .to = 11, .bytes = 1 << 20, .mtu = 4096}, kStart);
  const Shares made_of = shares.find(flight.arrived);
  EXPECT_EQ(made_of[static_cast<size_t>(Group::latency)],
            static_cast<int64_t>(platform.nic.wire + platform.nic.deliver));
  EXPECT_GT(made_of[static_cast<size_t>(Group::bandwidth)], int64_t{20'000'000});
}

}  // namespace
}  // namespace fb::fabric
