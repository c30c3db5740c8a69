#include "virtual_node/mem/fresh_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "virtual_node/mem/address_space.h"

namespace fb::mem {
namespace {

std::vector<std::byte> contents(const Allocation& a) { return {a.bytes.get(), a.bytes.get() + a.size}; }

TEST(FreshBytes, AreZerosWithoutASeed) {
  const FreshBytes none(0);
  EXPECT_TRUE(none.are_zeros());
  for (const uint64_t size : {uint64_t{100}, uint64_t{3} << 20}) {
    const auto bytes = contents(*allocate(1, 0, size, "test", &none));
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
}

// Small ones are filled, large ones mapped.
TEST(FreshBytes, AreAFunctionOfSeedAndNumber) {
  const FreshBytes fresh(7), again(7), other(8);
  for (const uint64_t size : {uint64_t{5000}, uint64_t{9} << 20}) {
    const auto bytes = contents(*allocate(1, 0, size, "test", &fresh));
    EXPECT_EQ(bytes, contents(*allocate(1, 0, size, "test", &again)));
    EXPECT_NE(bytes, contents(*allocate(2, 0, size, "test", &fresh)));
    EXPECT_NE(bytes, contents(*allocate(1, 0, size, "test", &other)));
    std::set<std::byte> seen(bytes.begin(), bytes.end());
    EXPECT_EQ(seen.size(), 256u);
  }
}

TEST(FreshBytes, WritesToOneAllocationDoNotShowInAnother) {
  const FreshBytes fresh(7);
  constexpr uint64_t kSize = 9 << 20;
  const auto first = allocate(1, 0, kSize, "test", &fresh);
  const auto before = contents(*first);
  std::fill_n(first->bytes.get(), kSize, std::byte{1});
  EXPECT_EQ(contents(*allocate(1, 0, kSize, "test", &fresh)), before);
}

}  // namespace
}  // namespace fb::mem
