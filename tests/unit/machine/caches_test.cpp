// The caches of the model of time (virtual_node/machine/time/caches.h).
#include "virtual_node/machine/time/caches.h"

#include <gtest/gtest.h>

namespace fb::machine {
namespace {

TEST(L1Cache, KeepsSectorsOfLines) {
  L1Cache l1;
  EXPECT_EQ(l1.miss(7, 0b0001), 0b0001u);
  EXPECT_EQ(l1.miss(7, 0b0001), 0u);
  EXPECT_EQ(l1.miss(7, 0b1111), 0b1110u) << "one sector was there";
  EXPECT_EQ(l1.miss(8, 0b0001), 0b0001u) << "another line";
}

TEST(L1Cache, HoldsNoMoreThanItsCapacity) {
  L1Cache l1;
  constexpr uint64_t kLines = 4096;  // 512 KiB
  for (uint64_t k = 0; k < kLines; ++k) l1.miss(k, 0b1111);
  uint64_t missing = 0;
  for (uint64_t k = 0; k < kLines; ++k) missing += l1.miss(k, 0b1111) != 0 ? 1 : 0;
  EXPECT_GT(missing, kLines * 8 / 10);
  // Half of the capacity stays.
  L1Cache small;
  for (uint64_t k = 0; k < 512; ++k) small.miss(k, 0b1111);
  missing = 0;
  for (uint64_t k = 0; k < 512; ++k) missing += small.miss(k, 0b1111) != 0 ? 1 : 0;
  EXPECT_LT(missing, 32u);
}

TEST(L1Cache, OneSetOfSixteenIsSampled) {
  uint32_t sampled = 0;
  for (uint64_t k = 0; k < 16'000; ++k) sampled += L1Cache::is_sampled(k) ? 1 : 0;
  EXPECT_NEAR(sampled, 1000, 200);
}

struct L2 : testing::Test {
  L2Cache cache{1 << 20};  // 8192 lines
  std::shared_ptr<mem::Allocation> a = mem::allocate(1, 0, 4 << 20, "a"), b = mem::allocate(2, 0, 4 << 20, "b");
};

TEST_F(L2, ReadsALineFromMemoryOnce) {
  EXPECT_TRUE(cache.read(*a, 0));
  EXPECT_FALSE(cache.read(*a, 0));
  EXPECT_TRUE(cache.read(*a, 1));
  EXPECT_TRUE(cache.read(*b, 0)) << "the same line of another allocation";
}

TEST_F(L2, ForgetsWhatWasUsedLongAgo) {
  EXPECT_TRUE(cache.read(*a, 0));
  for (uint64_t k = 0; k < 8000; ++k) cache.read(*b, k);
  EXPECT_FALSE(cache.read(*a, 0)) << "it still fits, and is used now";
  for (uint64_t k = 8000; k < 16'000; ++k) cache.read(*b, k);
  EXPECT_FALSE(cache.read(*a, 0));
  for (uint64_t k = 16'000; k < 25'000; ++k) cache.read(*b, k);
  EXPECT_TRUE(cache.read(*a, 0)) << "more than it holds was read meanwhile";
}

TEST_F(L2, WritesALineBackOnce) {
  EXPECT_TRUE(cache.write(*a, 3));
  EXPECT_FALSE(cache.write(*a, 3));
  EXPECT_FALSE(cache.read(*a, 3)) << "it is there";
  EXPECT_FALSE(cache.write(*a, 3)) << "and still dirty";
  EXPECT_TRUE(cache.read(*a, 4));
  EXPECT_TRUE(cache.write(*a, 4)) << "a clean line becomes dirty";
  for (uint64_t k = 0; k < 9000; ++k) cache.read(*b, k);
  EXPECT_TRUE(cache.write(*a, 3)) << "it was written back meanwhile";
}

TEST_F(L2, ASampledLineStandsForOthers) {
  EXPECT_TRUE(cache.read(*a, 0));
  for (uint64_t k = 0; k < 600; ++k) cache.read(*b, 16 * k, 16);
  EXPECT_TRUE(cache.read(*a, 0));
}

}  // namespace
}  // namespace fb::machine
