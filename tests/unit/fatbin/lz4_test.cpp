#include "ranks/fatbin/lz4.h"

#include <gtest/gtest.h>

#include <string>

namespace fb::fatbin {
namespace {

// The text of `bytes` bytes, or "wrong".
std::string expanded(const std::string& block, size_t bytes) {
  std::string text(bytes, '?');
  return expand_lz4(std::as_bytes(std::span(block)), std::as_writable_bytes(std::span(text))) ? text : "wrong";
}

TEST(Lz4, LiteralsAndMatches) {
  EXPECT_EQ(expanded("\x50hello", 5), "hello");
  EXPECT_EQ(expanded(std::string("\x20"
                                 "ab",
                                 3),
                     2),
            "ab");
  // A match that overlaps what it makes: a run.
  EXPECT_EQ(expanded(std::string("\x16"
                                 "x\x01\0\x10"
                                 "y",
                                 6),
                     12),
            "xxxxxxxxxxxy");
  EXPECT_EQ(expanded("", 0), "");
}

TEST(Lz4, LongLengthsGoOnInMoreBytes) {
  const std::string literals(15 + 255 + 3, 'a');
  EXPECT_EQ(expanded(std::string("\xf0\xff\x03", 3) + literals, literals.size()), literals);
  std::string block = std::string("\x1f", 1) + "z" + std::string("\x01\0\xff\x05", 4) + std::string("\x10", 1) + "!";
  EXPECT_EQ(expanded(block, 1 + 15 + 255 + 5 + 4 + 1), std::string(1 + 15 + 255 + 5 + 4, 'z') + "!");
}

TEST(Lz4, MalformedBlocksAreRefused) {
  EXPECT_EQ(expanded("\x50hell", 5), "wrong");   // literals are cut off
  EXPECT_EQ(expanded("\x50hello", 4), "wrong");  // more than said
  EXPECT_EQ(expanded("\x50hello", 6), "wrong");  // less than said
  EXPECT_EQ(expanded(std::string("\x16"
                                 "x\0\0\x10"
                                 "y",
                                 6),
                     12),
            "wrong");  // distance 0
  EXPECT_EQ(expanded(std::string("\x16"
                                 "x\x02\0\x10"
                                 "y",
                                 6),
                     12),
            "wrong");  // before the beginning
  EXPECT_EQ(expanded(std::string("\x16"
                                 "x\x01",
                                 3),
                     12),
            "wrong");  // half a distance
  EXPECT_EQ(expanded(std::string("\x1f"
                                 "x\x01\0",
                                 4),
                     40),
            "wrong");  // the length is cut off
  EXPECT_EQ(expanded(std::string("\xf0\xff\xff", 3), 600), "wrong");
}

}  // namespace
}  // namespace fb::fatbin
