#include "virtual_node/fabric/network.h"

#include <gtest/gtest.h>

#include "common/platform/platform_files.h"

namespace fb::fabric {
namespace {

struct Cards : testing::Test {
  platform::Platform platform = *platform::load_platform("h100x8_2nodes");
  ShareLedger shares;
  Network network{platform, shares};
  static constexpr Time kStart = 1000 * platform::kMicrosecond;

  // From posting to the poll that finds it.
  Time one_way(Network::Message m, Time at = kStart) {
    const Time begun = network.start(at + platform.nic.post, m.inlined, m.from_device);
    return network.send(m, begun).arrived + platform.nic.poll - at;
  }
  static Network::Message message(uint64_t bytes, uint32_t card = 0) {
    return {.from = card, .to = card + 8, .bytes = bytes, .mtu = 4096};
  }
};

double microseconds(Time t) { return static_cast<double>(t) / platform::kMicrosecond; }

TEST_F(Cards, EightOnEachNode) {
  EXPECT_EQ(network.cards(), 16u);
  EXPECT_EQ(network.node_of(7), 0u);
  EXPECT_EQ(network.node_of(8), 1u);
}

TEST_F(Cards, InlineDataSaveTheFetch) {
  auto m = message(2);
  const Time fetched = one_way(m);
  m = message(2, 1);
  m.inlined = true;
  EXPECT_EQ(fetched - one_way(m), platform.nic.start - platform.nic.inline_start);
}

TEST_F(Cards, AWriteOfNothingToItselfTakesWhatWasMeasured) {
  const Time begun = network.start(kStart + platform.nic.post, false, false);
  const Time there = network.send({.from = 0, .to = 0, .mtu = 4096}, begun).arrived;
  const Time back = network.send({.from = 0, .to = 0, .mtu = 4096, .kind = Network::Kind::answer}, there).arrived;
  EXPECT_NEAR(microseconds(back - kStart + platform.nic.poll), 2.90, 0.06);
}

TEST_F(Cards, LargeMessagesReachTheBandwidthOfTheirPath) {
  constexpr uint64_t kBytes = 64 << 20;
  const auto rate = [&](Network::Message m) {
    const auto flight = network.send(m, kStart);
    return static_cast<double>(kBytes) / (static_cast<double>(flight.arrived - kStart) * 1e-12);
  };
  const auto& nic = platform.nic;
  EXPECT_NEAR(rate(message(kBytes, 0)), nic.bandwidth, nic.bandwidth / 100);
  EXPECT_NEAR(rate({.from = 1, .to = 1, .bytes = kBytes, .mtu = 4096}), nic.loopback_bandwidth,
              nic.loopback_bandwidth / 100);
  auto from_device = message(kBytes, 2), to_device = message(kBytes, 3);
  from_device.from_device = to_device.to_device = true;
  EXPECT_NEAR(rate(from_device), nic.device_read_bandwidth, nic.device_read_bandwidth / 100);
  EXPECT_NEAR(rate(to_device), nic.device_write_bandwidth, nic.device_write_bandwidth / 100);
}

TEST_F(Cards, MemoryOfAGpuIsFurtherAway) {
  const Time host = one_way(message(256, 0));
  auto m = message(256, 1);
  m.from_device = true;
  EXPECT_EQ(one_way(m) - host, platform.nic.device_fetch);
  m = message(256, 2);
  m.to_device = true;
  EXPECT_EQ(one_way(m) - host, platform.nic.device_deliver);
}

TEST_F(Cards, SmallPacketsCarryMoreHeaders) {
  const Time large = network.send({.from = 0, .to = 8, .bytes = 1 << 20, .mtu = 4096}, kStart).left;
  const Time small = network.send({.from = 1, .to = 9, .bytes = 1 << 20, .mtu = 256}, kStart).left;
  EXPECT_GT(small - kStart, (large - kStart) * 21 / 20);
  EXPECT_LT(small - kStart, (large - kStart) * 13 / 10);
}

TEST_F(Cards, TwoSendersShareAReceivingPortAndRailsDoNot) {
  constexpr uint64_t kBytes = 1 << 20;
  const Time alone = network.send(message(kBytes, 0), kStart).arrived - kStart;
  const Time rail = network.send(message(kBytes, 1), kStart).arrived - kStart;
  EXPECT_EQ(rail, alone);
  const Time shared = network.send({.from = 2, .to = 8, .bytes = kBytes, .mtu = 4096}, kStart).arrived - kStart;
  EXPECT_GT(shared, alone * 18 / 10);
}

TEST_F(Cards, BothWaysOfALoopbackShareIt) {
  constexpr uint64_t kBytes = 1 << 20;
  const Network::Message m{.from = 0, .to = 0, .bytes = kBytes, .mtu = 4096};
  const Time alone = network.send(m, kStart).arrived - kStart;
  EXPECT_GT(network.send(m, kStart).arrived - kStart, alone * 18 / 10);
}

TEST_F(Cards, MemoryIsReadAndWrittenOverOneLinkEachWay) {
  // Two ports feed one card's memory while it sends to another: reads and writes do not wait for each other.
  constexpr uint64_t kBytes = 1 << 20;
  const Time alone = network.send(message(kBytes, 0), kStart).arrived - kStart;
  EXPECT_EQ(network.send({.from = 9, .to = 0, .bytes = kBytes, .mtu = 4096}, kStart).arrived - kStart, alone);
  // What a card writes into itself it also reads: a further message that leaves waits for the link, not for the port.
  network.send({.from = 1, .to = 1, .bytes = kBytes, .mtu = 4096}, kStart);
  EXPECT_GT(network.send(message(kBytes, 1), kStart).left - kStart, alone * 3 / 2);
}

TEST_F(Cards, AllQueuePairsShareACardsMessageRate) {
  constexpr int kMessages = 10'000;
  Time last = 0;
  for (int k = 0; k < kMessages; ++k) {
    auto m = message(0);
    m.inlined = true;
    last = std::max(last, network.send(m, kStart).left);
  }
  const double each = static_cast<double>(last - kStart) / kMessages;
  EXPECT_NEAR(each, static_cast<double>(platform.nic.card_message),
              0.05 * static_cast<double>(platform.nic.card_message));
}

TEST_F(Cards, AtomicOperationsTakeTurns) {
  const Network::Message m{.from = 0, .to = 8, .bytes = 8, .mtu = 4096, .kind = Network::Kind::from_atomic};
  const Time first = network.send(m, kStart).left;
  Time last = 0;
  for (int k = 0; k < 100; ++k) last = network.send(m, kStart).left;
  EXPECT_NEAR(microseconds(last - first), 100 * microseconds(platform.nic.atomic), 1);
}

TEST_F(Cards, TheFirstByteComesBeforeTheLast) {
  const auto flight = network.send(message(1 << 20), kStart);
  EXPECT_NEAR(microseconds(flight.first - kStart), microseconds(platform.nic.wire + platform.nic.deliver), 0.01);
  EXPECT_GT(flight.arrived, flight.first + 20 * platform::kMicrosecond);
  const auto empty = network.send(message(0, 1), kStart);
  EXPECT_LE(empty.first, empty.arrived);
}

TEST_F(Cards, TimesHaveShares) {
  shares.begin(kStart);
  const Time begun = network.start(kStart, false, true);
  const auto flight = network.send(message(1 << 20, 3), begun);
  const Shares made_of = shares.find(flight.arrived);
  const auto& nic = platform.nic;
  EXPECT_EQ(made_of[static_cast<size_t>(platform::Group::latency)],
            static_cast<int64_t>(nic.start + nic.device_fetch + nic.wire + nic.deliver));
  EXPECT_GT(made_of[static_cast<size_t>(platform::Group::bandwidth)], int64_t{20'000'000});
  const Time next = network.after_message(begun);
  EXPECT_EQ(shares.find(next)[static_cast<size_t>(platform::Group::latency)],
            static_cast<int64_t>(nic.start + nic.device_fetch + nic.message));
}

}  // namespace
}  // namespace fb::fabric
