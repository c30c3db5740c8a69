#include "common/base/toml_reader.h"

#include <gtest/gtest.h>

namespace fb {
namespace {

class TomlReaderTest : public testing::Test {
 protected:
  toml::table parse(std::string_view text) {
    auto parsed = reader_.parse(text);
    EXPECT_TRUE(parsed) << messages();
    return parsed ? std::move(*parsed) : toml::table();
  }
  std::string messages() const { return to_string(errors_, "f"); }

  Errors errors_;
  TomlReader reader_{errors_};
};

TEST_F(TomlReaderTest, ReturnsTypedValues) {
  const auto table = parse("text = 'a'\nwhole = 3\nreal = 2.5\nyes = true\nlist = ['x', 'y']\n[[row]]\n[[row]]\n");
  EXPECT_EQ(reader_.text(table, "text"), "a");
  EXPECT_EQ(reader_.optional_text(table, "none"), std::nullopt);
  EXPECT_EQ(reader_.integer(table, "whole"), 3);
  EXPECT_EQ(reader_.number(table, "real"), 2.5);
  EXPECT_EQ(reader_.number(table, "whole"), 3);
  EXPECT_EQ(reader_.optional_number(table, "none"), std::nullopt);
  EXPECT_TRUE(reader_.flag(table, "yes"));
  EXPECT_FALSE(reader_.flag(table, "none"));
  EXPECT_EQ(reader_.list(table, "list").size(), 2u);
  EXPECT_EQ(reader_.texts(table, "list")[1].first, "y");
  EXPECT_TRUE(reader_.texts(table, "none").empty());
  EXPECT_EQ(reader_.tables(table, "row").size(), 2u);
  EXPECT_EQ(messages(), "");
}

TEST_F(TomlReaderTest, CollectsErrorsWithLineAndColumn) {
  const auto table = parse(
      "text = 1\nempty = ' '\nlines = \"a\\nb\"\nwhole = 1.5\nreal = 'x'\nyes = 1\nnone = []\n"
      "list = ['a', 'a', 2]\nrow = [1]\n");
  reader_.text(table, "text");
  reader_.text(table, "empty");
  reader_.text(table, "lines");
  reader_.text(table, "missing");
  reader_.integer(table, "whole");
  reader_.number(table, "real");
  reader_.flag(table, "yes");
  reader_.list(table, "none");
  reader_.texts(table, "list");
  reader_.tables(table, "row");
  EXPECT_EQ(messages(),
            "f:1:8: 'text' must be text\n"
            "f:2:9: 'empty' must be text that is not empty\n"
            "f:3:9: 'lines' must be one line\n"
            "f:1:1: 'missing' is missing\n"
            "f:4:9: 'whole' must be a whole number\n"
            "f:5:8: 'real' must be a number\n"
            "f:6:7: 'yes' must be true or false\n"
            "f:7:8: 'none' must be a list that is not empty\n"
            "f:8:14: 'a' appears twice in 'list'\n"
            "f:8:19: 'list' must be text\n"
            "f:9:8: 'row' must be written as [[row]]\n");
}

TEST_F(TomlReaderTest, RefusesUnknownKeysWithTheNearestKnownOne) {
  const auto table = parse("title = 'a'\n  titel = 'b'\nqqq = 1\n");
  reader_.refuse_unknown(table, {"title", "level"});
  EXPECT_EQ(messages(), "f:3:1: unknown key 'qqq'\nf:2:3: unknown key 'titel'; did you mean 'title'?\n");
  errors_.list.clear();
  reader_.refuse_unknown(table, {"title", "titel"}, "constant", "[device]");
  EXPECT_EQ(messages(), "f:3:1: unknown constant 'qqq' of [device]\n");
}

TEST_F(TomlReaderTest, LocatesASyntaxError) {
  EXPECT_FALSE(reader_.parse("a = 1\nb = = 2\n"));
  EXPECT_TRUE(messages().starts_with("f:2:5: ")) << messages();
}

}  // namespace
}  // namespace fb
