#include "virtual_node/machine/judging/memory_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/base/rng.h"

namespace fb::machine {
namespace {

std::vector<uint32_t> words_of(const std::vector<std::vector<uint32_t>>& pieces) {
  WordCount count;
  for (const auto& piece : pieces) count.add(std::as_bytes(std::span(piece)));
  return count.most_frequent();
}

bool has(const std::vector<uint32_t>& words, uint32_t word) { return std::ranges::find(words, word) != words.end(); }

TEST(MemoryWords, OfASmallPieceAllCount) {
  const auto words = words_of({{1, 2, 0xdead}, {7}});
  for (const uint32_t word : {1u, 2u, 0xdeadu, 7u}) EXPECT_TRUE(has(words, word)) << word;
}

TEST(MemoryWords, OfALargePieceThoseThatAreRepeated) {
  Rng rng(1);
  std::vector<uint32_t> box(1 << 20);
  for (uint32_t& word : box) word = static_cast<uint32_t>(rng.next());
  const uint32_t data = box[5];
  // A quarter of it waits for data.
  std::fill(box.begin() + (1 << 18), box.begin() + (1 << 19), 0x7fc0ffee);
  const auto words = words_of({box});
  EXPECT_TRUE(has(words, 0x7fc0ffee));
  EXPECT_FALSE(has(words, data));
}

TEST(MemoryWords, TheMostFrequentComeFirstAndAreFew) {
  std::vector<uint32_t> many(200);
  for (uint32_t k = 0; k < many.size(); ++k) many[k] = k;
  const auto words = words_of({many, {150, 150}, {150, 9}});
  EXPECT_EQ(words.at(0), 150u);
  EXPECT_EQ(words.at(1), 9u);
  EXPECT_LT(words.size(), 64u);
}

TEST(MemoryWords, NothingIsFoundInNothing) { EXPECT_TRUE(words_of({{}}).empty()); }

}  // namespace
}  // namespace fb::machine
