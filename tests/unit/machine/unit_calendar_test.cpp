// Contention for the units of a multiprocessor (virtual_node/machine/time/unit_calendar.h).
#include "virtual_node/machine/time/unit_calendar.h"

#include <gtest/gtest.h>

namespace fb::machine {
namespace {

constexpr uint64_t kInterval = 1 << 16;

TEST(UnitCalendar, WorkAloneTakesItsOwnTime) {
  UnitCalendar unit;
  EXPECT_EQ(unit.reserve(1'000'000, 500), 1'000'500u);
  EXPECT_EQ(unit.reserve(5'000'000, 3 * kInterval), 5'000'000 + 3 * kInterval);
}

TEST(UnitCalendar, TwoThatSaturateItTakeTheSum) {
  UnitCalendar unit;
  const uint64_t begin = 100 * kInterval;
  EXPECT_EQ(unit.reserve(begin, 10 * kInterval), begin + 10 * kInterval);
  EXPECT_EQ(unit.reserve(begin, 10 * kInterval), begin + 20 * kInterval);
}

TEST(UnitCalendar, TheOrderOfCallsDoesNotMatter) {
  // One warp runs ahead; another that comes later in the program's order, but earlier in time, finds room.
  UnitCalendar unit;
  const uint64_t begin = 100 * kInterval;
  unit.reserve(begin + 8 * kInterval, kInterval);
  EXPECT_EQ(unit.reserve(begin, kInterval / 2), begin + kInterval / 2);
}

TEST(UnitCalendar, WhatFitsBesideOthersIsNotDelayed) {
  // Four warps that need a fifth of the unit each, over the same time.
  UnitCalendar unit;
  const uint64_t begin = 100 * kInterval, time = 10 * kInterval;
  for (int warp = 0; warp < 4; ++warp) EXPECT_LE(unit.reserve(begin, time / 5), begin + time);
  EXPECT_LE(unit.reserve(begin, time / 5), begin + time);
  EXPECT_GT(unit.reserve(begin, time / 5), begin + time) << "six fifths";
}

TEST(UnitCalendar, OldTimesAreForgotten) {
  UnitCalendar unit;
  unit.reserve(0, 10 * kInterval);
  const uint64_t later = 1000 * kInterval;
  EXPECT_EQ(unit.reserve(later, 100), later + 100);
}

}  // namespace
}  // namespace fb::machine
