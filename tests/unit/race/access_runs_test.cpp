#include "virtual_node/race/shadow/access_runs.h"

#include <gtest/gtest.h>

#include <vector>

namespace fb::race {
namespace {

struct Runs {
  std::vector<AccessRun> list;
  bool ascending = false;
};

Runs runs(AccessKind kind, Mask lanes, const std::vector<mem::Address>& addresses, uint8_t bytes = 4) {
  std::vector<mem::Address> all = addresses;
  all.resize(simt::kLanes);
  simt::Access access;
  access.kind = kind;
  access.bytes = bytes;
  access.lanes = lanes;
  access.addresses = all.data();
  Runs r;
  r.ascending = each_run(access, [&](const AccessRun& run) { r.list.push_back(run); });
  return r;
}

TEST(AccessRuns, ConsecutiveLanesAreOneRun) {
  std::vector<mem::Address> addresses;
  for (uint32_t l = 0; l < simt::kLanes; ++l) addresses.push_back(1000 + 8 * l);
  const Runs r = runs(AccessKind::store, simt::kAllLanes, addresses, 8);
  ASSERT_EQ(r.list.size(), 1u);
  EXPECT_EQ(r.list[0].bytes, 256u);
  EXPECT_EQ(r.list[0].spread, 3u);
  EXPECT_EQ(r.list[0].lanes, simt::kAllLanes);
  EXPECT_TRUE(r.ascending);
}

TEST(AccessRuns, LoadsOfTheSameAddressAreOneRun) {
  const Runs r = runs(AccessKind::load, 0b111, {100, 200, 100});
  ASSERT_EQ(r.list.size(), 2u);
  EXPECT_EQ(r.list[0].spread, kEveryLane);
  EXPECT_EQ(r.list[0].lanes, 0b101u);
  EXPECT_EQ(r.list[1].spread, kOneLane);
  EXPECT_EQ(r.list[1].lanes, 0b010u);
}

TEST(AccessRuns, StoresToTheSameAddressStayApart) {
  const Runs r = runs(AccessKind::store, 0b11, {100, 100});
  ASSERT_EQ(r.list.size(), 2u);
  EXPECT_FALSE(r.ascending);
}

TEST(AccessRuns, AGapEndsARun) {
  const Runs r = runs(AccessKind::store, 0b1011, {100, 104, 0, 112});
  ASSERT_EQ(r.list.size(), 2u);
  EXPECT_EQ(r.list[0].bytes, 8u);
  EXPECT_EQ(r.list[1].lane, 3u);
  EXPECT_TRUE(r.ascending);
}

}  // namespace
}  // namespace fb::race
