#include "judge/score/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fb::judge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Bound : public testing::Test {
 protected:
  Bound() {
    platform_.peer.nvlink = true;
    platform_.peer.copy_bandwidth = 100e9;
    platform_.host_link.to_host_bandwidth = platform_.host_link.from_host_bandwidth = 50e9;
    platform_.memory.bandwidth = 1000e9;
  }
  std::string sentence(double latency, double bandwidth, double in_flight, double issue, double launch,
                       const record::Moved& moved = {}) const {
    const record::Timing t{.size = "a",
                           .world = 2,
                           .seconds = 1e-3,
                           .sensitivity = {{"latency", latency},
                                           {"bandwidth", bandwidth},
                                           {"in_flight", in_flight},
                                           {"issue", issue},
                                           {"launch", launch}},
                           .moved = moved};
    return bound_sentence(t, platform_);
  }
  platform::Platform platform_;
};

TEST_F(Bound, IsWhatTheTimeAnswersToMost) {
  EXPECT_EQ(
      sentence(0.61, 0.04, 0, 0.09, 0.22, {.peer_out = 4'000'000, .peer_in = 1, .memory = 3'000'000}),
      "bound by a chain of latencies (61 % of the time scales with latencies, 22 % with launches); links at 4 % of "
      "their peak, memory at 0.3 %");
  EXPECT_THAT(sentence(0.2, 0, 0, 0, 0.8), StartsWith("bound by launches and host calls (80 % of the time"));
  EXPECT_THAT(sentence(0.2, 0, 0, 0.7, 0.1), StartsWith("bound by the issue of instructions (70 %"));
}

TEST_F(Bound, OfBytesInFlightIsNoChainOfLatencies) {
  // By Little's law the time is latency over what is in flight: it answers to both.
  EXPECT_THAT(sentence(0.9, 0.05, 0.8, 0, 0.1), StartsWith("bound by how much may be in flight (80 %"));
  EXPECT_THAT(sentence(0.9, 0.05, 0.1, 0, 0.1), StartsWith("bound by a chain of latencies (80 %"));
}

TEST_F(Bound, OfBandwidthNamesTheBusiest) {
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, {.peer_out = 90'000'000, .peer_in = 10'000'000, .memory = 500'000'000}),
              HasSubstr("bandwidth: egress (100 %"));
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, {.peer_out = 10'000'000, .peer_in = 90'000'000, .memory = 500'000'000}),
              HasSubstr("bandwidth: ingress ("));
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, {.peer_out = 90'000'000, .peer_in = 90'000'000}),
              HasSubstr("bandwidth: egress and ingress alike ("));
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, {.peer_out = 1'000'000, .memory = 900'000'000}), HasSubstr("bandwidth: HBM ("));
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, {.to_host = 40'000'000}), HasSubstr("bandwidth: the link to the host ("));
}

TEST_F(Bound, OfMessagesIsTheNetwork) {
  const record::Moved moved{.peer_out = 1'000'000, .network_out = 9'000'000, .network_in = 8'000'000};
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, moved), HasSubstr("bandwidth: egress (")) << "there are no cards";
  platform_.nic.per_node = 1;
  platform_.nic.bandwidth = 10e9;
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, moved), HasSubstr("bandwidth: the network (100 %"));
  EXPECT_THAT(sentence(0, 1, 0, 0, 0, moved), HasSubstr("links at 90 % of their peak"));
}

TEST_F(Bound, WithoutNvlinkPeersShareTheLinkToTheHost) {
  platform_.peer.nvlink = false;
  record::Timing t{.seconds = 1e-3, .moved = {.peer_out = 20'000'000, .to_host = 20'000'000}};
  EXPECT_DOUBLE_EQ(utilisation(t, platform_).egress, 0.8);
  EXPECT_DOUBLE_EQ(utilisation(t, platform_).links(), 0.8);
}

TEST_F(Bound, IsNotKnownWhereNothingWasMeasured) {
  record::Timing t{.size = "a", .seconds = 1e-3, .moved = {.peer_in = 50'000'000, .memory = 100'000'000}};
  add_bound(t, platform_);
  EXPECT_EQ(t.bound, "");
  EXPECT_DOUBLE_EQ(t.link_use, 0.5);
  EXPECT_DOUBLE_EQ(t.memory_use, 0.1);
}

}  // namespace
}  // namespace fb::judge
