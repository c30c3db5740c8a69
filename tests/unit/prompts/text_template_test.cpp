#include "campaign/prompts/text_template.h"

#include <gtest/gtest.h>

#include "prompts/golden.h"

namespace fb::prompts {
namespace {

std::string filled(std::string_view text, const Values& values) {
  const auto result = fill("file.md", text, values);
  EXPECT_TRUE(result) << message_of(result);
  return result.value_or("");
}

std::string refused(std::string_view text, const Values& values) {
  const auto result = fill("file.md", text, values);
  EXPECT_FALSE(result) << *result;
  return message_of(result);
}

TEST(PromptTemplate, PutsValuesIntoGaps) {
  EXPECT_EQ(filled("Hello {{ name }}, {{name}}!\n", {{"name", "you"}}), "Hello you, you!\n");
  EXPECT_EQ(filled("", {}), "");
  EXPECT_EQ(filled("no end", {}), "no end");
  EXPECT_EQ(filled("\n\n", {}), "\n\n");
}

TEST(PromptTemplate, InsertsValuesAsTheyAre) {
  EXPECT_EQ(filled("{{code}}", {{"code", "int a[] = {{1}}; {{code}} {{#x}}"}}), "int a[] = {{1}}; {{code}} {{#x}}");
  EXPECT_EQ(filled("{{a}}{{b}}", {{"a", "{{"}, {"b", "}}"}}), "{{}}");
}

TEST(PromptTemplate, LeavesBracesAloneThatAreNoGap) {
  EXPECT_EQ(filled("a { b } {{ c\n}} d", {}), "a { b } {{ c\n}} d");
}

TEST(PromptTemplate, ShowsASectionOnlyIfThereIsAValue) {
  constexpr std::string_view kText = "one\n{{#x}}\ntwo {{x}}\n{{/x}}\nthree\n";
  EXPECT_EQ(filled(kText, {{"x", "2"}}), "one\ntwo 2\nthree\n");
  EXPECT_EQ(filled(kText, {{"x", ""}}), "one\nthree\n");
  EXPECT_EQ(filled("a{{#x}} b {{x}}{{/x}} c", {{"x", ""}}), "a c");
  EXPECT_EQ(filled("a{{#x}} b {{x}}{{/x}} c", {{"x", "!"}}), "a b ! c");
}

TEST(PromptTemplate, NestsSections) {
  constexpr std::string_view kText = "{{#x}}x{{#y}}y{{/y}}{{/x}}.";
  EXPECT_EQ(filled(kText, {{"x", "1"}, {"y", "1"}}), "xy.");
  EXPECT_EQ(filled(kText, {{"x", "1"}, {"y", ""}}), "x.");
  EXPECT_EQ(filled(kText, {{"x", ""}, {"y", "1"}}), ".");
}

TEST(PromptTemplate, OmitsWhatIsSaidToBeOmitted) {
  EXPECT_EQ(filled("{{omit x}}\ntext\n", {{"x", "value"}}), "text\n");
}

TEST(PromptTemplate, NamesUnknownNamesWithTheirLines) {
  const std::string message = refused("fine\n{{nmae}} {{#other}}{{/other}}\n{{name}}", {{"name", "x"}});
  EXPECT_NE(message.find("file.md:2: there is no {{nmae}}; known: name"), std::string::npos) << message;
  EXPECT_NE(message.find("file.md:2: there is no {{other}}"), std::string::npos) << message;
}

TEST(PromptTemplate, RefusesValuesThatNobodyUses) {
  EXPECT_NE(refused("text\n", {{"rules", "none"}}).find("{{rules}} is not used: say {{omit rules}}"),
            std::string::npos);
  // A value inside a section that is not shown is used: whether it is shown depends on the problem.
  EXPECT_EQ(filled("{{#x}}{{y}}{{/x}}", {{"x", ""}, {"y", "1"}}), "");
}

TEST(PromptTemplate, RefusesSectionsThatDoNotMatch) {
  const Values values = {{"x", "1"}, {"y", "1"}};
  EXPECT_NE(refused("{{y}}\n{{#x}}\n", values).find("file.md:2: {{#x}} is not closed"), std::string::npos);
  EXPECT_NE(refused("{{y}}{{/x}}", values).find("{{/x}} closes nothing"), std::string::npos);
  EXPECT_NE(refused("{{#x}}{{#y}}{{/x}}{{/y}}", values).find("{{/x}} closes nothing"), std::string::npos);
}

}  // namespace
}  // namespace fb::prompts
