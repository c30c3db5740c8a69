#include "judge/catalog/expression.h"

#include <gtest/gtest.h>

#include <limits>

namespace fb::catalog {
namespace {

Result<int64_t> evaluate(std::string_view text, const Values& values = {}) {
  const auto expression = Expression::parse(text);
  if (!expression) return std::unexpected(expression.error());
  return expression->evaluate(values);
}

int64_t value(std::string_view text, const Values& values = {}) {
  const auto result = evaluate(text, values);
  EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().list[0].message);
  return result.value_or(-12345);
}

std::string message(std::string_view text, const Values& values = {}) {
  const auto result = evaluate(text, values);
  return result ? "" : result.error().list[0].message;
}

uint32_t column_of_error(std::string_view text) {
  const auto expression = Expression::parse(text);
  EXPECT_FALSE(expression) << text;
  return expression ? 0 : expression.error().list[0].at.column;
}

TEST(Expression, ProductsBindTighterThanSumsAndBothGoFromLeftToRight) {
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("100 / 5 / 2"), 10);
  EXPECT_EQ(value("100 / 5 * 2"), 40);
  EXPECT_EQ(value("17 % 10 % 4"), 3);
  EXPECT_EQ(value(" 7 "), 7);
}

TEST(Expression, NamesHaveTheirValues) {
  const Values values = {{"n", 10}, {"world", 4}, {"top_k2", 3}};
  EXPECT_EQ(value("(world - 1) * n * 4", values), 120);
  EXPECT_EQ(value("top_k2*n", values), 30);
  EXPECT_EQ(Expression::parse("n * (world + n)")->names(), (std::set<std::string>{"n", "world"}));
  EXPECT_EQ(Expression::parse("n * 2")->text(), "n * 2");
}

TEST(Expression, DivisionRoundsDownAndTheRemainderFits) {
  for (const int64_t a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (const int64_t b : {-3, -2, 1, 2, 3}) {
      const Values values = {{"a", a}, {"b", b}};
      const int64_t quotient = value("a / b", values), rest = value("a % b", values);
      EXPECT_EQ(quotient * b + rest, a) << a << " " << b;
      EXPECT_TRUE(rest == 0 || (rest < 0) == (b < 0)) << a << " " << b;
      EXPECT_EQ(value("ceil_div(a, b)", values), quotient + (rest == 0 ? 0 : 1)) << a << " " << b;
    }
  }
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("-7 % 2"), 1);
}

TEST(Expression, ThereAreThreeFunctions) {
  EXPECT_EQ(value("min(3, 2 + 2)"), 3);
  EXPECT_EQ(value("max(3, 2 + 2)"), 4);
  EXPECT_EQ(value("ceil_div(9, 4) + min (1,2)"), 4);
  EXPECT_NE(message("abs(1)").find("no function 'abs'"), std::string::npos);
  EXPECT_NE(message("min(1)").find("two arguments"), std::string::npos);
  EXPECT_NE(message("min(1, 2, 3)").find("')' is missing"), std::string::npos);
  EXPECT_EQ(value("min * 2", {{"min", 4}}), 8);
}

TEST(Expression, WhatDoesNotFitIsAnErrorAndNeverWraps) {
  const Values values = {{"most", std::numeric_limits<int64_t>::max()}, {"least", std::numeric_limits<int64_t>::min()}};
  for (const char* text : {"most + 1", "least - 1", "most * 2", "least / -1", "least % -1", "ceil_div(least, -1)",
                           "-least", "4294967296 * 4294967296"})
    EXPECT_NE(message(text, values).find("does not fit"), std::string::npos) << text;
  EXPECT_EQ(value("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_NE(message("9223372036854775808").find("too large"), std::string::npos);
}

TEST(Expression, DivisionByZeroAndUnknownNamesAreErrors) {
  for (const char* text : {"1 / 0", "1 % 0", "ceil_div(1, 0)", "1 / (n - n)"})
    EXPECT_NE(message(text, {{"n", 3}}).find("division by zero"), std::string::npos) << text;
  EXPECT_NE(message("m + 1", {{"n", 3}}).find("'m' has no value"), std::string::npos);
}

TEST(Expression, WrongTextIsLocated) {
  EXPECT_EQ(column_of_error("n + "), 5u);
  EXPECT_EQ(column_of_error("n n"), 3u);
  EXPECT_EQ(column_of_error("2 * (n + 1"), 11u);
  EXPECT_EQ(column_of_error("n ) + 1"), 3u);
  EXPECT_EQ(column_of_error("n ^ 2"), 3u);
  EXPECT_EQ(column_of_error("1 + 2x"), 5u);
  EXPECT_EQ(column_of_error("1 + foo(2)"), 5u);
  EXPECT_EQ(column_of_error(""), 1u);
  EXPECT_EQ(column_of_error("   "), 4u);
  EXPECT_EQ(column_of_error("1.5"), 2u);
}

TEST(Expression, DepthIsBounded) {
  EXPECT_FALSE(Expression::parse(std::string(100000, '(')));
  EXPECT_FALSE(Expression::parse(std::string(100000, '-') + "1"));
  EXPECT_EQ(value(std::string(30, '(') + "1" + std::string(30, ')')), 1);
}

TEST(Expression, AsCxxItHasTheSameOperations) {
  const auto cxx = [](const char* text) { return Expression::parse(text)->cxx(); };
  EXPECT_EQ(cxx("1 + n * 2"), "(int64_t{1} + (n * int64_t{2}))");
  EXPECT_EQ(cxx("n - -m"), "(n - (-m))");
  EXPECT_EQ(cxx("ceil_div(n, world) % max(2, min(a, b))"),
            "floor_mod(ceil_div(n, world), std::max(int64_t{2}, std::min(a, b)))");
  EXPECT_EQ(cxx("n / 3 / 2"), "floor_div(floor_div(n, int64_t{3}), int64_t{2})");
  EXPECT_EQ(Expression().cxx(), "int64_t{0}");
}

TEST(Expression, WithoutTextItIsZero) { EXPECT_EQ(Expression().evaluate({}), 0); }

}  // namespace
}  // namespace fb::catalog
