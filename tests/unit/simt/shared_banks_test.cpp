// Conflicts of the banks of shared memory (virtual_node/simt/shared_banks.h).
#include "virtual_node/simt/shared_banks.h"

#include <gtest/gtest.h>

namespace fb::simt {
namespace {

struct Addresses {
  mem::Address a[kLanes];
};

Addresses strided(uint64_t bytes) {
  Addresses all{};
  for (uint32_t l = 0; l < kLanes; ++l) all.a[l] = 1024 + l * bytes;
  return all;
}

TEST(SharedBanks, WordsOfDifferentBanksTakeOneCycle) {
  EXPECT_EQ(shared_cycles(strided(4).a, kAllLanes, 4), 1u);
  EXPECT_EQ(shared_cycles(strided(12).a, kAllLanes, 4), 1u) << "an odd stride meets every bank once";
  EXPECT_EQ(shared_cycles(strided(132).a, kAllLanes, 4), 1u) << "a padded row";
}

TEST(SharedBanks, AStrideOfTwoToThirtyTwoWordsIsThatManyWays) {
  for (uint32_t ways = 2; ways <= 32; ways *= 2) {
    EXPECT_EQ(shared_cycles(strided(4 * ways).a, kAllLanes, 4), ways) << ways;
  }
}

TEST(SharedBanks, OneWordForAllIsABroadcast) {
  EXPECT_EQ(shared_cycles(strided(0).a, kAllLanes, 4), 1u);
  EXPECT_EQ(shared_cycles(strided(1).a, kAllLanes, 1), 1u) << "bytes of the same words";
}

TEST(SharedBanks, WideAccessesAreMadeInParts) {
  EXPECT_EQ(shared_cycles(strided(8).a, kAllLanes, 8), 2u);
  EXPECT_EQ(shared_cycles(strided(16).a, kAllLanes, 16), 4u);
  EXPECT_EQ(shared_cycles(strided(128).a, kAllLanes, 16), 32u) << "all lanes of a part in the same four banks";
}

TEST(SharedBanks, LanesThatDoNotExecuteAreInNobodysWay) {
  EXPECT_EQ(shared_cycles(strided(128).a, 0x0000ffff, 4), 16u);
  EXPECT_EQ(shared_cycles(strided(128).a, 1, 4), 1u);
}

}  // namespace
}  // namespace fb::simt
