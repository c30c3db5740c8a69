#include "virtual_node/simt/lower/block_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fb::simt {
namespace {

using Blocks = std::vector<uint32_t>;

Flow flow_of(const std::vector<Blocks>& next) {
  Flow flow;
  for (uint32_t b = 0; b < next.size(); ++b) flow.block_begin.push_back(10 * b);
  flow.next = next;
  return flow;
}

TEST(BlockOrder, OfTheSourceStays) {
  EXPECT_EQ(block_order(flow_of({{1, 2}, {3}, {3}, {}})), (Blocks{0, 1, 2, 3}));
  EXPECT_EQ(block_order(flow_of({{1}, {2, 3}, {1}, {}})), (Blocks{0, 1, 2, 3}));                     // a loop
  EXPECT_EQ(block_order(flow_of({{1}, {2}, {3}, {2, 4}, {1, 5}, {}})), (Blocks{0, 1, 2, 3, 4, 5}));  // one in another
}

TEST(BlockOrder, JoinsLieBehindWhatTheyJoin) {
  // if (c) 2 else 3, joined in 1, which was laid out before them
  EXPECT_EQ(block_order(flow_of({{2, 3}, {}, {1}, {1}})), (Blocks{0, 2, 3, 1}));
  // A loop with head 2 whose arms 3 and 4 join in 1, which jumps back or leaves for 5.
  EXPECT_EQ(block_order(flow_of({{2}, {2, 5}, {3, 4}, {1}, {1}, {}})), (Blocks{0, 2, 3, 4, 1, 5}));
}

TEST(BlockOrder, LoopsLieInOnePiece) {
  // The exit 1 of the loop 2, 3 was laid out before it.
  EXPECT_EQ(block_order(flow_of({{2}, {}, {3, 1}, {2}})), (Blocks{0, 2, 3, 1}));
}

TEST(BlockOrder, KeepsEveryBlockOfAnyFlow) {
  std::mt19937 random(7);
  for (int n = 0; n < 2000; ++n) {
    const auto count = static_cast<uint32_t>(1 + random() % 12);
    std::vector<Blocks> next(count);
    for (Blocks& to : next) {
      for (auto k = random() % 3; k > 0; --k) to.push_back(static_cast<uint32_t>(random() % count));
    }
    Blocks order = block_order(flow_of(next));
    EXPECT_EQ(order.front(), 0U);
    std::ranges::sort(order);
    for (uint32_t b = 0; b < count; ++b) ASSERT_EQ(order[b], b);
    ASSERT_EQ(order.size(), count);
  }
}

}  // namespace
}  // namespace fb::simt
