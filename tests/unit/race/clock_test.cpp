#include "virtual_node/race/clocks/clock.h"

#include <gtest/gtest.h>

namespace fb::race {
namespace {

constexpr Mask kAll = simt::kAllLanes;
constexpr StreamEpoch kKernel{9, 3};  // whose blocks are spoken of

// One clock of what both know.
Clock joined(const Clock& a, const Clock& b) {
  return *join(std::make_shared<const Clock>(a), std::make_shared<const Clock>(b));
}

TEST(Clock, KnowsPartsOfAWhole) {
  Clock c;
  c.add(kKernel, Entry{2, kAllWarps, kAll, 5});
  EXPECT_TRUE(c.covers(kKernel, 2, 1, kAll, 5));
  EXPECT_TRUE(c.covers(kKernel, 2, 7, 1, 3));
  EXPECT_FALSE(c.covers(kKernel, 2, 1, kAll, 6));
  EXPECT_FALSE(c.covers(kKernel, 4, 1, kAll, 1));
}

TEST(Clock, ALaneIsNotItsWarp) {
  Clock c;
  c.add(kKernel, Entry{2, 1, 0b1, 9});
  c.add(kKernel, Entry{2, 1, kAll, 4});
  EXPECT_TRUE(c.covers(kKernel, 2, 1, 0b1, 9));
  EXPECT_FALSE(c.covers(kKernel, 2, 1, 0b10, 9));
  EXPECT_TRUE(c.covers(kKernel, 2, 1, 0b10, 4));
  EXPECT_FALSE(c.covers(kKernel, 2, 2, 0b1, 1));
}

TEST(Clock, SeveralLanesTogether) {
  Clock c;
  c.add(kKernel, Entry{2, 1, 0b01, 9});
  c.add(kKernel, Entry{2, 1, 0b10, 8});
  EXPECT_TRUE(c.covers(kKernel, 2, 1, 0b11, 8));
  EXPECT_FALSE(c.covers(kKernel, 2, 1, 0b11, 9));
}

TEST(Clock, EntriesOfPartsVanish) {
  Clock c;
  for (uint16_t warp = 1; warp <= 8; ++warp) c.add(kKernel, Entry{2, warp, kAll, warp});
  EXPECT_EQ(c.size(), 8u);
  c.add(kKernel, Entry{2, kAllWarps, kAll, 6});
  EXPECT_EQ(c.size(), 3u);
  EXPECT_TRUE(c.covers(kKernel, 2, 8, kAll, 8));
  c.add(kKernel, Entry{2, kAllWarps, kAll, 8});
  EXPECT_EQ(c.size(), 1u);
}

TEST(Clock, JoinKnowsWhatBothKnow) {
  Clock a, b;
  a.add(kKernel, Entry{2, 1, kAll, 3});
  a.add(StreamEpoch{1, 4});
  b.add(kKernel, Entry{2, kAllWarps, kAll, 5});
  b.add(kKernel, Entry{4, 2, 0b100, 1});
  b.add(StreamEpoch{1, 2});
  b.add(StreamEpoch{3, 1});
  a = joined(a, b);
  EXPECT_TRUE(a.covers(kKernel, 2, 1, kAll, 5));
  EXPECT_TRUE(a.covers(kKernel, 4, 2, 0b100, 1));
  EXPECT_TRUE(a.covers(StreamEpoch{1, 4}));
  EXPECT_TRUE(a.covers(StreamEpoch{3, 1}));
  EXPECT_FALSE(a.covers(StreamEpoch{3, 2}));
  EXPECT_TRUE(a.covers(b));
  EXPECT_FALSE(b.covers(a));
}

TEST(Clock, JoiningWhatIsKnownKeepsTheClock) {
  auto a = std::make_shared<Clock>();
  a->add(kKernel, Entry{2, kAllWarps, kAll, 5});
  auto b = std::make_shared<Clock>();
  b->add(kKernel, Entry{2, 3, kAll, 5});
  const ClockRef known = a, other = b;
  EXPECT_EQ(join(known, other), known);
  EXPECT_EQ(join(other, known), known);
  EXPECT_EQ(join(nullptr, known), known);
  EXPECT_EQ(join(known, nullptr), known);
}

TEST(Clock, AWriteThatWasSeenSaysNothingElse) {
  Clock a;
  const SeenWrite seen{&a, 4, 2, 1, 0, 7};
  a.add(seen);
  EXPECT_TRUE(a.covers(seen));
  EXPECT_FALSE(a.covers(kKernel, 2, 1, 1, 7));
  Clock b = joined(Clock(), a);
  EXPECT_TRUE(b.covers(seen));
  // A newer one at the same place takes its place.
  SeenWrite newer = seen;
  newer.epoch = 8;
  b.add(newer);
  EXPECT_FALSE(b.covers(seen));
}

TEST(Clock, BlocksOfAnEndedKernelVanish) {
  Clock c;
  c.add(kKernel, Entry{2, 1, 0b1, 1});
  const StreamEpoch later{kKernel.stream, kKernel.seq + 1};
  c.add(later, Entry{4, 1, kAll, 1});
  EXPECT_EQ(c.size(), 2u);
  c.add(kKernel);  // the kernel as a whole
  EXPECT_EQ(c.size(), 2u);
  EXPECT_TRUE(c.covers(kKernel, 2, 5, kAll, 9));
  EXPECT_TRUE(c.covers(later, 4, 1, kAll, 1));
  EXPECT_FALSE(c.covers(later, 4, 1, kAll, 2));
  c.add(kKernel, Entry{2, 1, kAll, 7});  // says nothing new
  EXPECT_EQ(c.size(), 2u);
}

TEST(Clock, WhatOneKnowsAsAWholeVanishesInTheOther) {
  Clock part, whole;
  part.add(kKernel, Entry{2, 1, kAll, 1});
  part.add(StreamEpoch{1, 1});
  whole.add(kKernel);
  for (const Clock& both : {joined(part, whole), joined(whole, part)}) {
    EXPECT_EQ(both.size(), 2u);
    EXPECT_TRUE(both.covers(part));
    EXPECT_TRUE(both.covers(whole));
  }
  EXPECT_FALSE(whole.covers(part));
  EXPECT_FALSE(part.covers(whole));
}

TEST(Clock, ForgetsOneOperation) {
  Clock c;
  c.add(kKernel, Entry{2, 1, kAll, 1});
  c.add(StreamEpoch{4, 1}, Entry{4, 1, kAll, 1});
  c.forget(kKernel);
  EXPECT_FALSE(c.covers(kKernel, 2, 1, kAll, 1));
  EXPECT_TRUE(c.covers(StreamEpoch{4, 1}, 4, 1, kAll, 1));
}

}  // namespace
}  // namespace fb::race
