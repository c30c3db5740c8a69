#include "base/strings.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace fb {
namespace {

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Strings, TrimRemovesBlanksAtBothEnds) {
  EXPECT_EQ(trim(" \t a b \n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Strings, ReadingAMissingFileNamesIt) {
  try {
    read_file("/nowhere/at/all");
    FAIL() << "did not throw";
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/at/all"), std::string::npos);
  }
}

TEST(Strings, TheFirstLineHasNoBlanksAround) {
  EXPECT_EQ(first_line("\n  one \r\ntwo\n"), "one");
  EXPECT_EQ(first_line("one"), "one");
  EXPECT_EQ(first_line(" \n"), "");
}

TEST(Errors, FitIntoOneLine) {
  Errors errors("one\n");
  errors.list.push_back({{3, 4}, "two\nlines"});
  EXPECT_EQ(in_one_line(errors), "one; 3:4: two lines");
}

TEST(Errors, PrintLocationsOnlyWhereTheyAreKnown) {
  Errors errors("whole file");
  errors.list.push_back({{3, 7}, "here"});
  EXPECT_EQ(to_string(errors, "x.ptx"), "x.ptx: whole file\nx.ptx:3:7: here\n");
}

}  // namespace
}  // namespace fb
