#include "common/base/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fb {
namespace {

TEST(Terminal, AFileIsNone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(terminal_columns(ends[1]));
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(terminal_columns(-1));
}

TEST(Terminal, ColumnsAreOfCharactersNotOfBytes) {
  EXPECT_EQ(columns_of(""), 0u);
  EXPECT_EQ(columns_of("all_reduce"), 10u);
  EXPECT_EQ(columns_of("für µs …"), 8u);
  EXPECT_EQ(columns_of("全体"), 4u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(columns_of("\xff\xc3"), 2u) << "bytes that are no UTF-8";
}

TEST(Terminal, TextsAreCutBetweenCharacters) {
  EXPECT_EQ(cut_to_columns("all_reduce", 10), "all_reduce");
  EXPECT_EQ(cut_to_columns("all_reduce", 9), "all_redu…");
  EXPECT_EQ(cut_to_columns("all reduce", 5), "all…") << "no space before the mark";
  EXPECT_EQ(cut_to_columns("µµµ", 2), "µ…");
  EXPECT_EQ(cut_to_columns("全体全体", 4), "全…") << "half a wide character is none";
  EXPECT_EQ(cut_to_columns("all", 1), "…");
  EXPECT_EQ(cut_to_columns("all", 0), "");
  for (size_t columns = 0; columns < 12; ++columns)
    EXPECT_LE(columns_of(cut_to_columns("für 全体: e\u0301 \xff", columns)), columns);
}

TEST(Terminal, TextsArePaddedToColumns) {
  EXPECT_EQ(pad_to_columns("µs", 4), "µs  ");
  EXPECT_EQ(pad_to_columns("long", 2), "long");
}

}  // namespace
}  // namespace fb
