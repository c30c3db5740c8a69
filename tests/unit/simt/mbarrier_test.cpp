#include "virtual_node/simt/async/mbarrier.h"

#include <gtest/gtest.h>

namespace fb::simt {
namespace {

TEST(Mbarrier, AnyStateSurvivesTheWord) {
  for (const Mbarrier& b : {Mbarrier{false, 1, 1, 0}, Mbarrier{true, kMbarrierMaxCount, 0, -kMbarrierMaxTx},
                            Mbarrier{true, 7, kMbarrierMaxCount, kMbarrierMaxTx}}) {
    EXPECT_EQ(decode_mbarrier(encode(b)), b);
    EXPECT_TRUE(is_live_mbarrier(encode(b)));
  }
}

TEST(Mbarrier, MemoryThatWasNeverInitialisedIsNone) {
  EXPECT_FALSE(is_live_mbarrier(0));
  EXPECT_FALSE(is_live_mbarrier(~uint64_t{0}));
}

TEST(Mbarrier, APhaseEndsWhenNeitherThreadsNorBytesAreMissing) {
  Mbarrier b{false, 2, 2, 0};
  const uint64_t first = encode(b);
  EXPECT_FALSE(arrive(b, 1).completed);
  EXPECT_TRUE(expect_tx(b, 100).problem.empty());
  EXPECT_FALSE(arrive(b, 1).completed);
  EXPECT_FALSE(complete_tx(b, 60).completed);
  EXPECT_FALSE(phase_ended(encode(b), first));
  EXPECT_TRUE(complete_tx(b, 40).completed);
  EXPECT_TRUE(phase_ended(encode(b), first));
  EXPECT_TRUE(parity_ended(encode(b), 0));
  EXPECT_FALSE(parity_ended(encode(b), 1));
  EXPECT_EQ(b, (Mbarrier{true, 2, 2, 0}));
}

TEST(Mbarrier, BytesMayComeBeforeTheyAreExpected) {
  Mbarrier b{false, 1, 1, 0};
  EXPECT_FALSE(complete_tx(b, 16).completed);
  EXPECT_TRUE(expect_tx(b, 16).problem.empty());
  EXPECT_TRUE(arrive(b, 1).completed);
}

TEST(Mbarrier, ThreadsThatDropOutAreNotExpectedAgain) {
  Mbarrier b{false, 3, 3, 0};
  EXPECT_FALSE(arrive(b, 1, true).completed);
  EXPECT_TRUE(arrive(b, 2).completed);
  EXPECT_EQ(b.pending, 2u);
}

TEST(Mbarrier, WhatIsNotLegalChangesNothing) {
  const Mbarrier before{false, 2, 1, 0};
  Mbarrier b = before;
  EXPECT_FALSE(arrive(b, 2).problem.empty());
  EXPECT_FALSE(arrive(b, 0).problem.empty());
  EXPECT_FALSE(arrive_no_complete(b, 1).problem.empty());
  EXPECT_FALSE(expect_tx(b, 1 << 20).problem.empty());
  EXPECT_FALSE(complete_tx(b, ~0u).problem.empty());
  EXPECT_EQ(b, before);
}

}  // namespace
}  // namespace fb::simt
