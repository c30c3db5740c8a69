#include "campaign/llm/prices.h"

#include <gtest/gtest.h>

#include "campaign/llm/ask.h"
#include "campaign/llm/provider.h"
#include "tests/unit/llm/environment.h"

namespace fb::llm {
namespace {

constexpr Price kPrice = {.input = 3, .output = 15, .cached_input = 0.3, .cache_write = 3.75};

TEST(Prices, EachKindOfTokenHasItsOwn) {
  // 500 new, 400 cached, 100 written, 200 out.
  const record::Usage usage = {.input_tokens = 1000,
                               .cached_tokens = 400,
                               .cache_write_tokens = 100,
                               .output_tokens = 200,
                               .reasoning_tokens = 150};
  EXPECT_DOUBLE_EQ(usd(usage, kPrice), (500 * 3 + 400 * 0.3 + 100 * 3.75 + 200 * 15) / 1e6);
  EXPECT_EQ(usd({}, kPrice), 0);
}

TEST(Prices, CountsThatContradictEachOtherNeverMakeItNegative) {
  const record::Usage usage = {.input_tokens = 100, .cached_tokens = 400, .cache_write_tokens = 100};
  EXPECT_DOUBLE_EQ(usd(usage, kPrice), 100 * 0.3 / 1e6);
}

TEST(Prices, TheFirstRowThatFitsCounts) {
  const auto table = parse_prices(R"(
    as_of = 2026-01-31
    [[price]]
    provider = "a"
    model = "m-1"
    input = 1
    output = 2
    [[price]]
    provider = "a"
    model = "m-*-x"
    input = 3.5
    cached_input = 0.5
    cache_write = 4
    output = 4)");
  ASSERT_TRUE(table) << to_string(table.error(), "");
  EXPECT_EQ(table->as_of, "2026-01-31");
  EXPECT_EQ(table->find("a", "m-1"), (Price{.input = 1, .output = 2, .cached_input = 1, .cache_write = 1}));
  EXPECT_EQ(table->find("a", "m-20-x"), (Price{.input = 3.5, .output = 4, .cached_input = 0.5, .cache_write = 4}));
  EXPECT_EQ(table->find("a", "m-20-y"), std::nullopt);
  EXPECT_EQ(table->find("b", "m-1"), std::nullopt);
}

TEST(Prices, WhatIsWrongInAFileIsNamed) {
  const auto message = [](std::string_view text) {
    const auto table = parse_prices(text);
    return table ? std::string("nothing") : to_string(table.error(), "f");
  };
  EXPECT_NE(message("").find("'as_of' is missing"), std::string::npos);
  EXPECT_NE(message("as_of = 2026-01-01\n[[price]]\nmodel = 'x'").find("f:2:1: 'provider' is missing"),
            std::string::npos);
  EXPECT_NE(
      message("as_of = 2026-01-01\n[[price]]\nprovider='a'\nmodel='x'\ninput=-1\noutput=1").find("must not be below 0"),
      std::string::npos);
  EXPECT_NE(message("as_of = 2026-01-01\n[[price]]\nprovider='a'\nmodel='x'\ninput=1\noutput=1\ninptu=2")
                .find("unknown key 'inptu'"),
            std::string::npos);
  EXPECT_NE(message("as_of = ").find("f:1"), std::string::npos);
}

TEST(Prices, OursNameProvidersThatExist) {
  const auto prices = load_prices();
  ASSERT_TRUE(prices) << to_string(prices.error(), "");
  const auto providers = load_providers();
  ASSERT_TRUE(providers) << to_string(providers.error(), "");
  EXPECT_FALSE((*prices)->rows.empty());
  for (const PriceRow& row : (*prices)->rows) {
    EXPECT_NE((*providers)->find(row.provider), nullptr) << row.provider;
    EXPECT_LE(row.price.cached_input, row.price.input) << row.model;
    EXPECT_LT(row.price.input, row.price.output) << row.model;
    // No row hides a later one.
    EXPECT_EQ((*prices)->find(row.provider, row.model), row.price) << row.model;
  }
}

TEST(Prices, AFileOfOnesOwnIsUsedInstead) {
  const ScratchFolder folder;
  const auto missing = load_prices(folder.path("none.toml"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().list[0].message.find("none.toml"), std::string::npos);
  const Variable chosen("FABRICBENCH_PRICES", folder.path("none.toml"));
  EXPECT_FALSE(load_prices());
  EXPECT_FALSE(check_ready({.provider = "openai-compatible", .model = "m", .base_url = "http://127.0.0.1:1/v1"}));
}

TEST(Prices, NoTryCostsMoreThanTheBound) {
  Request request;
  request.model = {.label = "m", .provider = "openai", .model = "gpt-5.1", .max_output_tokens = 1000};
  request.system = std::string(100, 's');
  request.messages = {{.role = Role::user, .text = std::string(868, 'u')}};
  // 968 bytes and 32 for what surrounds two texts at 1.25, 1000 tokens at 10.
  EXPECT_DOUBLE_EQ(*most_expensive(request), (1000 * 1.25 + 1000 * 10) / 1e6);
  request.model.model = "unheard-of";
  EXPECT_EQ(most_expensive(request), std::nullopt);
}

}  // namespace
}  // namespace fb::llm
