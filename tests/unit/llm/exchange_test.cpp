#include "campaign/llm/exchange.h"

#include <gtest/gtest.h>

namespace fb::llm {
namespace {

TEST(Exchange, ARequestIsTheSameAfterItWasReadAgain) {
  Request request;
  request.model = {.label = "m", .provider = "openai", .model = "gpt", .effort = "low", .temperature = 0.1};
  request.system = "sys";
  request.messages = {{.role = Role::user, .text = "a\n\"±\""}, {.role = Role::assistant, .text = "b"}};
  request.idempotency_key = "k";
  request.problem = "push_copy";
  request.sample = 3;
  request.round = 2;
  const auto again = parse_request(to_json(request));
  ASSERT_TRUE(again) << to_string(again.error(), "");
  EXPECT_EQ(*again, request);
}

TEST(Exchange, AResponseIsTheSameAfterItWasReadAgain) {
  const Response response = {.call = {.end = record::AnswerEnd::truncated,
                                      .stop_reason = "length",
                                      .model = "gpt-2026",
                                      .usage = {.input_tokens = 1, .output_tokens = 2},
                                      .usd = 0.25,
                                      .seconds = 1.5,
                                      .tries = 2,
                                      .lost = 1},
                             .text = "x",
                             .request_body = "{}",
                             .response_body = "data: {}\n\n",
                             .request_id = "r"};
  const auto again = parse_response(to_json(response));
  ASSERT_TRUE(again) << to_string(again.error(), "");
  EXPECT_EQ(*again, response);
}

TEST(Exchange, WhatIsNoneIsRefused) {
  EXPECT_FALSE(parse_request("{}"));
  EXPECT_FALSE(parse_request("[]"));
  EXPECT_FALSE(parse_request(R"({"model": {"label": "m"}, "messages": [{"role": "wizard", "text": ""}]})"));
  EXPECT_FALSE(parse_response(R"({"text": "x"})"));
  EXPECT_FALSE(parse_response("nonsense"));
}

TEST(Exchange, WhatIsNoTextDoesNotBreakARecord) {
  Response response;
  response.text = "a\xff\xfe b";
  const auto again = parse_response(to_json(response));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text, "a\xEF\xBF\xBD\xEF\xBF\xBD b");
}

}  // namespace
}  // namespace fb::llm
