#include "virtual_node/fabric/bandwidth_calendar.h"

#include <gtest/gtest.h>

#include <vector>

#include "virtual_node/fabric/flow_control.h"

namespace fb::fabric {
namespace {

constexpr double kRate = 100e9;  // 10 ps per byte

TEST(BandwidthCalendar, BytesThatAreAloneTakeTheirOwnTime) {
  BandwidthCalendar s(kRate);
  EXPECT_EQ(s.reserve(5 * platform::kMicrosecond, 100), 5 * platform::kMicrosecond + 1000);
}

TEST(BandwidthCalendar, BytesThatArriveTogetherAreServedOneAfterTheOther) {
  BandwidthCalendar s(kRate);
  Time last = 0;
  for (int k = 0; k < 1000; ++k) last = s.reserve(0, 1000);
  EXPECT_NEAR(static_cast<double>(last), 1000 * 1000 * 10.0, 0.001 * 1e7);
}

TEST(BandwidthCalendar, AnArrivalFromEarlierFindsTheRoomThatLaterOnesLeft) {
  BandwidthCalendar s(kRate);
  s.reserve(100 * platform::kMicrosecond, 1'000'000);
  EXPECT_EQ(s.reserve(50 * platform::kMicrosecond, 100), 50 * platform::kMicrosecond + 1000);
}

TEST(BandwidthCalendar, TwoFlowsGetHalfEach) {
  BandwidthCalendar s(kRate);
  Time next[2] = {0, 0};
  uint64_t sent[2] = {0, 0};
  while (std::min(next[0], next[1]) < 1000 * platform::kMicrosecond) {
    const int flow = next[0] <= next[1] ? 0 : 1;
    next[flow] = s.reserve(next[flow], 512);
    sent[flow] += 512;
  }
  EXPECT_NEAR(static_cast<double>(sent[0]), 50e6, 0.5e6);
  EXPECT_NEAR(static_cast<double>(sent[1]), 50e6, 0.5e6);
}

TEST(BandwidthCalendar, ATransferLargerThanTheCalendarTakesBytesOverRate) {
  BandwidthCalendar s(kRate);
  const Time end = s.reserve(0, 1 << 30);
  EXPECT_NEAR(static_cast<double>(end), (1 << 30) * 10.0, 0.001 * (1 << 30) * 10.0);
  // Requests that arrive meanwhile wait behind it: it left no room.
  EXPECT_GT(s.reserve(10 * platform::kMicrosecond, 1000), end);
}

TEST(BandwidthCalendar, DroppedIntervalsDelayNoRequest) {
  BandwidthCalendar s(kRate);
  s.reserve(0, 1000);
  s.reserve(10'000 * platform::kMicrosecond, 1000);
  EXPECT_EQ(s.reserve(1 * platform::kMicrosecond, 1000), 1 * platform::kMicrosecond + 10'000);
}

TEST(BandwidthCalendar, ALongQueueNeverExceedsTheRate) {
  // Arrivals from all over a window, in no order, more than fit: no more is served by the end than the rate allows.
  BandwidthCalendar s(kRate);
  uint64_t state = 1;
  Time last = 0;
  for (int k = 0; k < 40'000; ++k) {
    state = state * 6364136223846793005 + 1442695040888963407;
    last = std::max(last, s.reserve((state >> 40) % (100 * platform::kMicrosecond), 512));
  }
  EXPECT_GT(static_cast<double>(last), 40'000 * 512 * 10.0 * 0.99);
}

TEST(FlowControl, RateIsBytesInFlightOverTheRoundTrip) {
  constexpr uint64_t kLimit = 64 << 10;
  constexpr Time kRoundTrip = 2 * platform::kMicrosecond;
  FlowControl flow;
  Time now = 0;
  uint64_t sent = 0;
  while (now < 1000 * platform::kMicrosecond) {
    now = flow.enter(now, 512, kLimit);
    flow.leave(now, now + kRoundTrip, 512, kLimit);
    sent += 512;
  }
  EXPECT_NEAR(static_cast<double>(sent), 1000.0 / 2 * kLimit, 0.1 * 500 * kLimit);
}

}  // namespace
}  // namespace fb::fabric
