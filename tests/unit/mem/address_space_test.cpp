#include "virtual_node/mem/address_space.h"

#include <gtest/gtest.h>

namespace fb::mem {
namespace {

TEST(AddressSpace, FindsBytesOnlyInsideAWindow) {
  AddressSpace space;
  const Address a = space.reserve(100, 256);
  const Window& w = space.map(a, allocate(1, 0, 100, "cudaMalloc"));
  EXPECT_EQ(space.find(a), &w);
  EXPECT_EQ(space.find(a + 99), &w);
  EXPECT_EQ(space.find(a + 100), nullptr);
  EXPECT_EQ(space.find(a - 1), nullptr);
  EXPECT_TRUE(w.contains(a + 96, 4));
  EXPECT_FALSE(w.contains(a + 97, 4));
  EXPECT_FALSE(w.contains(a, ~0ull));
}

TEST(AddressSpace, LeavesARedZoneBetweenNeighbours) {
  AddressSpace space;
  const Address a = space.reserve(256, 256), b = space.reserve(256, 256);
  EXPECT_GE(b - a, 256u + 512u);
}

TEST(AddressSpace, NeverHandsOutAnAddressTwiceSoThatUseAfterFreeIsSeen) {
  AddressSpace space;
  const Address a = space.reserve(64, 256);
  const Window& w = space.map(a, allocate(7, 0, 64, "cudaMalloc"));
  EXPECT_TRUE(space.unmap(a));
  EXPECT_FALSE(space.unmap(a));
  EXPECT_EQ(space.find(a), nullptr);
  EXPECT_FALSE(w.contains(a, 1));  // a cached window stays safe to ask
  EXPECT_NE(space.reserve(64, 256), a);
  EXPECT_EQ(space.describe(a + 4), "byte 4 of cudaMalloc #7 (64 bytes at 0x1000000000), which was freed");
}

TEST(AddressSpace, DescribesTheNearestAllocation) {
  AddressSpace space;
  const Address a = space.reserve(64, 256);
  space.map(a, allocate(1, 0, 64, "cudaMalloc"));
  EXPECT_EQ(space.describe(a + 64), "0 bytes past the end of cudaMalloc #1 (64 bytes at 0x1000000000)");
  EXPECT_EQ(space.describe(a - 8), "8 bytes before cudaMalloc #1 (64 bytes at 0x1000000000)");
  EXPECT_EQ(space.describe(16), "a null pointer");
}

TEST(Allocation, StartsZeroed) {
  const auto a = allocate(1, 0, 10000, "x");
  for (uint64_t k = 0; k < a->size; ++k) ASSERT_EQ(a->bytes[k], std::byte{0});
}

}  // namespace
}  // namespace fb::mem
