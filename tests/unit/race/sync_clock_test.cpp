#include "virtual_node/race/clocks/sync_clock.h"

#include <gtest/gtest.h>

namespace fb::race {
namespace {

constexpr StreamEpoch kKernel{9, 3};

ReleaseClock release(ClockRef clock = nullptr) {
  ReleaseClock r;
  r.clock.all = std::move(clock);
  r.of = kKernel;
  r.block = 4;
  r.warp = 2;
  r.lanes = 0b100;
  r.block_epoch = 5;
  r.warp_epoch = 7;
  r.lane_epoch = 9;
  return r;
}

ClockRef clock_of_blocks(uint32_t count) {
  auto clock = std::make_shared<Clock>();
  for (uint32_t k = 0; k < count; ++k) clock->add(kKernel, Entry{100 + 4 * k, 1, 0b1, 1});
  return clock;
}

TEST(ClockJoiner, FlattensAReleaseDownToItsThread) {
  ClockJoiner joiner;
  const ClockRef flat = joiner.flatten(release());
  EXPECT_TRUE(flat->covers(kKernel, 4, 2, 0b100, 9));
  EXPECT_FALSE(flat->covers(kKernel, 4, 2, 0b010, 9));
  EXPECT_TRUE(flat->covers(kKernel, 4, 2, 0b010, 7));
  EXPECT_FALSE(flat->covers(kKernel, 4, 1, 0b010, 7));
  EXPECT_TRUE(flat->covers(kKernel, 4, 1, 0b010, 5));
}

TEST(ClockJoiner, AReleaseHasTheClockOfItsThread) {
  ClockJoiner joiner;
  EXPECT_TRUE(joiner.flatten(release(clock_of_blocks(3)))->covers(kKernel, 108, 1, 0b1, 1));
}

TEST(ClockJoiner, LargeClocksAreCoarsenedToBlocks) {
  ClockJoiner joiner;
  const ClockRef exact = joiner.flatten(release(clock_of_blocks(256)));
  EXPECT_FALSE(exact->covers(kKernel, 4, 1, 0b1, 9));
  const ClockRef coarse = joiner.flatten(release(clock_of_blocks(257)));
  EXPECT_TRUE(coarse->covers(kKernel, 4, 1, 0b1, 9));
  EXPECT_FALSE(coarse->covers(kKernel, 4, 1, 0b1, 10));
  EXPECT_LT(coarse->size(), exact->size() + 1);
}

TEST(ClockJoiner, TheSameOperandsGiveTheSameClock) {
  ClockJoiner joiner;
  auto b = std::make_shared<Clock>();
  b->add(StreamEpoch{1, 1});
  const ClockRef x = clock_of_blocks(3), y = b;
  const ClockRef joined = joiner.join(x, y);
  EXPECT_EQ(joiner.join(x, y), joined);
  EXPECT_EQ(joiner.join(joined, y), joined);
  EXPECT_EQ(joiner.join(nullptr, y), y);
  EXPECT_EQ(joiner.flatten(release(x)), joiner.flatten(release(x)));
  EXPECT_NE(joiner.flatten(release(x)), joiner.flatten(release(y)));
}

TEST(ClockJoiner, JoinsAllClocksOfASynchronisation) {
  ClockJoiner joiner;
  const ClockRef x = clock_of_blocks(1), y = clock_of_blocks(2);
  const SyncClock joined = joiner.join(SyncClock{x, nullptr, y}, SyncClock{y, x, nullptr});
  EXPECT_EQ(joined.all, y);
  EXPECT_EQ(joined.async_visible, x);
  EXPECT_EQ(joined.seen, y);
}

}  // namespace
}  // namespace fb::race
