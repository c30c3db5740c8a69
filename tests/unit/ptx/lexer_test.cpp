#include "common/ptx/parse/lexer.h"

#include <gtest/gtest.h>

#include <bit>

namespace fb::ptx {
namespace {

Token first(std::string_view text) { return Lexer(text).token(); }

TEST(Lexer, integers_have_all_spellings) {
  EXPECT_EQ(first("0").value, 0u);
  EXPECT_EQ(first("42").value, 42u);
  EXPECT_EQ(first("0x1F").value, 31u);
  EXPECT_EQ(first("0b101").value, 5u);
  EXPECT_EQ(first("017").value, 15u);
  EXPECT_EQ(first("18446744073709551615").value, ~uint64_t{0});
  EXPECT_TRUE(first("7U").is_unsigned);
  EXPECT_EQ(first("7U").value, 7u);
}

TEST(Lexer, floats_keep_their_bits) {
  EXPECT_EQ(first("0f3F800000").kind, Token::Kind::float32);
  EXPECT_EQ(first("0f3F800000").value, 0x3F800000u);
  EXPECT_EQ(first("0d3FF0000000000000").kind, Token::Kind::float64);
  EXPECT_EQ(first("1.5").value, std::bit_cast<uint64_t>(1.5));
  EXPECT_EQ(first("2e3").value, std::bit_cast<uint64_t>(2000.0));
}

TEST(Lexer, malformed_numbers_are_bad_tokens) {
  for (const auto* text : {"0x", "09", "0f12", "0b2", "12abc", "18446744073709551616", "0d3F", "1.5x"}) {
    EXPECT_EQ(first(text).kind, Token::Kind::bad) << text;
  }
}

TEST(Lexer, locations_count_lines_and_columns_from_one) {
  Lexer lexer("a /* x\n y */ b // c\n\n  d");
  EXPECT_EQ(lexer.token().at, (Location{1, 1}));
  lexer.advance();
  EXPECT_EQ(lexer.token().at, (Location{2, 7}));
  lexer.advance();
  EXPECT_EQ(lexer.token().at, (Location{4, 3}));
}

TEST(Lexer, an_opcode_is_one_token_and_a_label_is_seen_before_it_is_taken) {
  Lexer opcode("ld.shared::cta.v2.b32 x");
  opcode.extend_opcode();
  EXPECT_EQ(opcode.token().text, "ld.shared::cta.v2.b32");
  EXPECT_FALSE(opcode.followed_by_colon());
  Lexer label("$L1 : ret");
  EXPECT_TRUE(label.followed_by_colon());
}

TEST(Lexer, text_may_end_anywhere) {
  for (const auto* text : {"", "/", "/*", "\"abc", "\"\\", ".", "%", "0", "0x", "1e+", "a.", "a:"}) {
    Lexer lexer(text);
    for (int i = 0; i < 4; ++i) lexer.advance();
    EXPECT_EQ(lexer.token().kind, Token::Kind::end) << text;
  }
}

}  // namespace
}  // namespace fb::ptx
