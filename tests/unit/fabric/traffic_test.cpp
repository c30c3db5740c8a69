#include "virtual_node/fabric/traffic.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fb::fabric {
namespace {

TEST(TrafficLog, BytesAreCountedInTheirInterval) {
  TrafficLog log(2, 1000);
  log.add(1, Traffic::peer_out, 2500, 7);
  log.add(1, Traffic::peer_out, 2900, 8);
  EXPECT_EQ(log.bytes(1, Traffic::peer_out), (std::vector<uint64_t>{0, 0, 15}));
  EXPECT_TRUE(log.bytes(0, Traffic::peer_out).empty());
}

TEST(TrafficLog, LongRunsGetWiderIntervalsAndLoseNoByte) {
  TrafficLog log(1, 1000);
  uint64_t sum = 0;
  for (Time t = 0; t < 100'000'000; t += 700) {
    log.add(0, Traffic::memory, t, 3);
    sum += 3;
  }
  const auto& series = log.bytes(0, Traffic::memory);
  EXPECT_LE(series.size(), 4096u);
  EXPECT_EQ(std::accumulate(series.begin(), series.end(), uint64_t{0}), sum);
  EXPECT_GT(log.interval(), 1000u);
}

}  // namespace
}  // namespace fb::fabric
