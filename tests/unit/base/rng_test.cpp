#include "common/base/rng.h"

#include <gtest/gtest.h>

#include <array>

namespace fb {
namespace {

// The published test vector of SplitMix64 for seed 1234567: schedules must be the same on every machine.
TEST(Rng, GivesThePublishedSequence) {
  Rng rng(1234567);
  EXPECT_EQ(rng.next(), 6457827717110365317u);
  EXPECT_EQ(rng.next(), 3203168211198807973u);
  EXPECT_EQ(rng.next(), 9817491932198370423u);
}

TEST(Rng, BelowReachesEveryValueAndNoOther) {
  Rng rng(1);
  std::array<int, 7> seen{};
  for (int k = 0; k < 1000; ++k) ++seen.at(rng.below(7));
  for (int count : seen) EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace fb
