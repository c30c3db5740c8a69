#include "common/base/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "common/base/byte_name.h"

namespace fb {
namespace {

TEST(Numbers, AreTheWholeText) {
  EXPECT_EQ(as_number<uint32_t>("42"), 42u);
  EXPECT_EQ(as_number<int>("-7"), -7);
  EXPECT_EQ(as_number<double>("1.5e3"), 1500);
  EXPECT_EQ(as_number<uint64_t>("ff", 16), 255u);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "-1", "4294967296"}) {
    EXPECT_FALSE(as_number<uint32_t>(text)) << text;
  }
}

TEST(Numbers, ThatAreNoneChangeNothing) {
  int kept = 3;
  EXPECT_FALSE(read_number("3.5", kept));
  EXPECT_EQ(kept, 3);
}

TEST(Numbers, AtTheBeginning) {
  EXPECT_EQ(leading_number<int>("17 of 20"), 17);
  EXPECT_EQ(leading_number<int>("of 20"), 0);
  EXPECT_EQ(leading_number("", 5), 5);
}

TEST(ByteName, IsMemoryAndOffset) {
  const auto hex = byte_named("m7+0x40");
  ASSERT_TRUE(hex);
  EXPECT_EQ(hex->memory, 7u);
  EXPECT_EQ(hex->offset, 0x40u);
  EXPECT_EQ(byte_named("m12+8")->offset, 8u);
  for (const char* text : {"", "m", "7+0x40", "m7", "m+1", "m0+1", "m7+", "m7+0x", "m7+0xg", "m7+ 1"}) {
    EXPECT_FALSE(byte_named(text)) << text;
  }
}

}  // namespace
}  // namespace fb
