#include "virtual_node/race/shadow/shadow.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fb::race {
namespace {

ShadowCell by(BlockId block) {
  ShadowCell cell;
  cell.block = block;
  return cell;
}

void write(Line& line, uint32_t begin, uint32_t end, const ShadowCell& cell) {
  line.each(begin, end, [&](Segment& s) {
    s.write = cell;
    s.read = {};
  });
  line.merge(begin, end);
}
void read(Line& line, uint32_t begin, uint32_t end, const ShadowCell& cell) {
  line.each(begin, end, [&](Segment& s) { s.read = cell; });
}

// "0-4:7 4-128:9": bytes, and the block that has written them.
std::string text(Line& line) {
  const auto one = [](const Segment& s) {
    return std::to_string(s.begin) + "-" + std::to_string(s.end) + ":" + std::to_string(s.write.block);
  };
  if (!line.parts) return one(line.whole);
  std::string all;
  for (const Segment& s : *line.parts) all += (all.empty() ? "" : " ") + one(s);
  return all;
}

TEST(Line, IsCutWherePartsDiffer) {
  Line line;
  write(line, 0, 128, by(1));
  EXPECT_EQ(text(line), "0-128:1");
  write(line, 4, 8, by(2));
  EXPECT_EQ(text(line), "0-4:1 4-8:2 8-128:1");
  write(line, 6, 12, by(3));
  EXPECT_EQ(text(line), "0-4:1 4-6:2 6-12:3 12-128:1");
}

TEST(Line, IsOneAgainWhenWrittenAsAWhole) {
  Line line;
  for (uint32_t at = 0; at < 128; at += 4) write(line, at, at + 4, by(at + 1));
  ASSERT_EQ(line.parts->size(), 32u);
  write(line, 8, 24, by(200));
  EXPECT_EQ(line.parts->size(), 29u);
  write(line, 0, 128, by(201));
  EXPECT_FALSE(line.parts);
  EXPECT_EQ(text(line), "0-128:201");
}

TEST(Line, WhatOthersHaveReadStaysApart) {
  Line line;
  write(line, 0, 64, by(1));
  read(line, 0, 4, by(2));
  line.merge(0, 64);
  EXPECT_EQ(text(line), "0-4:1 4-64:1 64-128:0");
}

std::vector<uint32_t> offsets(const Flags& flags, uint32_t begin, uint32_t end) {
  std::vector<uint32_t> found;
  for (const Flag& f : flags.at(begin, end)) found.push_back(f.offset);
  return found;
}

TEST(Flags, AreInOrderAndDoNotOverlap) {
  Flags flags;
  flags.make(8, 4);
  flags.make(0, 4);
  flags.make(4, 4);
  EXPECT_EQ(offsets(flags, 0, 128), (std::vector<uint32_t>{0, 4, 8}));
  EXPECT_EQ(offsets(flags, 3, 5), (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(offsets(flags, 12, 128), std::vector<uint32_t>{});
  const Flag* same = &flags.make(4, 4);
  EXPECT_EQ(same, &flags.make(4, 4));
  flags.make(0, 8);  // of another size: the two that it touches end
  EXPECT_EQ(offsets(flags, 0, 128), (std::vector<uint32_t>{0, 8}));
  flags.erase(7, 9);
  EXPECT_EQ(offsets(flags, 0, 128), std::vector<uint32_t>{});
}

}  // namespace
}  // namespace fb::race
