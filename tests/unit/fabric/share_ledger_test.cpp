#include "virtual_node/fabric/share_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "virtual_node/fabric/fabric.h"

namespace fb::fabric {
namespace {

int64_t of(const Shares& shares, platform::Group group) { return shares[static_cast<size_t>(group)]; }

TEST(ShareLedger, DurationsAddUpByGroupAlongAChainOfMoments) {
  ShareLedger ledger;
  ledger.begin(1000);
  const Time launched = ledger.later(1000, 500, platform::Group::launch);
  const Time computed = ledger.later(launched, 30, platform::Group::issue);
  const Time loaded = ledger.later(computed, 700, platform::Group::latency);
  const Time other = ledger.later(1000, 900, platform::Group::issue);
  // The later of two moments needs no note: it is found by its value.
  const Shares end = ledger.find(std::max(loaded, other));
  EXPECT_EQ(of(end, platform::Group::launch), 500);
  EXPECT_EQ(of(end, platform::Group::issue), 30);
  EXPECT_EQ(of(end, platform::Group::latency), 700);
  EXPECT_EQ(of(end, platform::Group::bandwidth), 0);
}

TEST(ShareLedger, WhatIsNotKnownHasNoShares) {
  ShareLedger ledger;
  EXPECT_FALSE(ledger.is_active());
  ledger.add(5, 10, platform::Group::issue);  // nothing: it has not begun
  ledger.begin(1000);
  EXPECT_EQ(ledger.find(1234), Shares{});
  const Time at = ledger.later(1234, 66, platform::Group::issue);
  EXPECT_EQ(of(ledger.find(at), platform::Group::issue), 66) << "of 300";
}

TEST(ShareLedger, AQueueEndsWhenTheResourceHasServedAllBeforeIt) {
  ShareLedger ledger;
  ledger.begin(1000);
  BusyPeriod link;
  // Ten requests that are ready at once, each of 100: the last one has waited for all of them.
  for (Time k = 1; k <= 10; ++k) ledger.add(link, {1000, 1100, 1000 + 100 * k, 100}, platform::Group::bandwidth);
  EXPECT_EQ(of(ledger.find(2000), platform::Group::bandwidth), 1000);
  // One that came late, after 600 of latency: had it come earlier, it would not have been served earlier.
  const Time late = ledger.later(1000, 600, platform::Group::latency);
  ledger.add(link, {late, late + 100, 2100, 100}, platform::Group::bandwidth);
  EXPECT_EQ(of(ledger.find(2100), platform::Group::bandwidth), 1100);
  EXPECT_EQ(of(ledger.find(2100), platform::Group::latency), 0);
  // After a pause a request ends at a fixed time after it came.
  const Time much_later = ledger.later(late, 5000, platform::Group::latency);
  ledger.add(link, {much_later, much_later + 100, much_later + 100, 100}, platform::Group::bandwidth);
  EXPECT_EQ(of(ledger.find(much_later + 100), platform::Group::latency), 5600);
  EXPECT_EQ(of(ledger.find(much_later + 100), platform::Group::bandwidth), 100);
}

TEST(ShareLedger, ManyMomentsPushOutTheEarliest) {
  ShareLedger ledger;
  ledger.begin(1);
  constexpr Time kMany = 3'000'000;
  for (Time t = 1; t < kMany; ++t) ledger.add(t, t + 1, platform::Group::issue);
  EXPECT_EQ(of(ledger.find(kMany), platform::Group::issue), static_cast<int64_t>(kMany - 1));
  EXPECT_EQ(ledger.find(2), Shares{});
}

class FabricShares : public testing::Test {
 protected:
  FabricShares() : fabric(*platform::load_platform("h100x8")) { fabric.shares().begin(kBegin); }
  Shares of_trip(const Trip& trip) { return fabric.shares().find(trip.back); }
  static constexpr Time kBegin = platform::kMicrosecond;
  Fabric fabric;
};

TEST_F(FabricShares, ALoadFromAPeerIsMostlyLatency) {
  const Trip trip = fabric.read(0, 0, 1, 512, kBegin);
  const Shares s = of_trip(trip);
  const auto all = static_cast<int64_t>(trip.back - kBegin);
  EXPECT_EQ(of(s, platform::Group::latency) + of(s, platform::Group::bandwidth), all);
  EXPECT_GT(of(s, platform::Group::latency), all * 9 / 10);
}

TEST_F(FabricShares, AFullLinkIsBandwidth) {
  Trip last;
  for (uint32_t k = 0; k < 4096; ++k) last = fabric.write(0, k % 132, 1, 4096, kBegin);
  const Shares s = of_trip(last);
  const auto all = static_cast<int64_t>(last.back - kBegin);
  EXPECT_EQ(of(s, platform::Group::latency) + of(s, platform::Group::bandwidth), all);
  EXPECT_GT(of(s, platform::Group::bandwidth), all * 8 / 10);
}

TEST_F(FabricShares, OneMultiprocessorWaitsForItsRoundTrips) {
  Trip last;
  Time now = kBegin;
  for (uint32_t k = 0; k < 1024; ++k) {
    last = fabric.read(0, 0, 1, 4096, now);
    now = last.issued;
  }
  const Shares s = of_trip(last);
  const auto all = static_cast<int64_t>(last.back - kBegin);
  EXPECT_EQ(of(s, platform::Group::latency) + of(s, platform::Group::bandwidth), all);
  EXPECT_GT(of(s, platform::Group::in_flight), all * 8 / 10) << "Little's law";
  EXPECT_LE(of(s, platform::Group::in_flight), all);
}

TEST_F(FabricShares, ACopyIsLaunchThenBandwidth) {
  const Copy copy = fabric.copy(0, 0, 1, 64 << 20, kBegin);
  const Shares s = fabric.shares().find(copy.end);
  const auto all = static_cast<int64_t>(copy.end - kBegin);
  EXPECT_EQ(of(s, platform::Group::latency) + of(s, platform::Group::bandwidth) + of(s, platform::Group::launch), all);
  EXPECT_GT(of(s, platform::Group::bandwidth), all * 9 / 10);
  EXPECT_EQ(of(s, platform::Group::launch), static_cast<int64_t>(fabric.platform().copy.start));
}

}  // namespace
}  // namespace fb::fabric
