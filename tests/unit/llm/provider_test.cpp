#include "campaign/llm/provider.h"

#include <gtest/gtest.h>

#include "tests/unit/llm/environment.h"

namespace fb::llm {
namespace {

constexpr std::string_view kRow = R"(
[stop_reasons]
complete = ["stop"]
failed = ["error"]
[[provider]]
name = "mine"
dialect = "openai"
base_url = "https://example.com/v1"
key = ["MY_KEY"]
key_header = "Authorization: Bearer $key"
token_limit = "max_tokens"
temperature = "temperature"
max_output_tokens = 100
stall_seconds = 5
effort.any = { a = { b = "$effort" }, c = [1, 2.5, true] }
)";

std::string problem(std::string text) {
  const auto table = parse_providers(text);
  return table ? "none" : to_string(table.error(), "f");
}

TEST(Providers, ARowIsAllItTakes) {
  const auto table = parse_providers(kRow);
  ASSERT_TRUE(table) << to_string(table.error(), "");
  const Provider* mine = table->find("mine");
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->effort.at("any").dump(), R"({"a":{"b":"$effort"},"c":[1,2.5,true]})");
  EXPECT_EQ(mine->stall, std::chrono::seconds(5));
  EXPECT_EQ(table->stop_reasons.at("error"), record::AnswerEnd::failed);
  EXPECT_EQ(table->find("yours"), nullptr);
}

TEST(Providers, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_NE(problem("").find("[stop_reasons] is missing"), std::string::npos);
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string text(kRow);
    return problem(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_EQ(changed("mine", "mine"), "none");
  EXPECT_NE(changed("\"openai\"", "\"klingon\"").find("f:5:1: unknown dialect 'klingon'"), std::string::npos);
  EXPECT_NE(changed("token_limit", "limit").find("'token_limit' is missing"), std::string::npos);
  EXPECT_NE(changed("token_limit", "limit").find("unknown key 'limit'; did you mean 'token_limit'?"),
            std::string::npos);
  EXPECT_NE(changed("$key", "key").find("'key_header' must be"), std::string::npos);
  EXPECT_NE(changed("= 100", "= -1").find("'max_output_tokens' must be a whole number above 0"), std::string::npos);
  EXPECT_NE(changed("complete =", "perfect =").find("'perfect' is not an end of an answer"), std::string::npos);
  EXPECT_NE(changed("[[provider]]", "[[provider").find("f:5"), std::string::npos);
}

TEST(Providers, AFolderWithoutTheTableIsNamed) {
  const ScratchFolder folder;
  const Variable data("FABRICBENCH_DATA", folder.path());
  const auto table = load_providers();
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().list[0].message,
            "FABRICBENCH_DATA names no folder of data: " + folder.path() + "/providers.toml is missing");
}

}  // namespace
}  // namespace fb::llm
