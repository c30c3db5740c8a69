#include <gtest/gtest.h>

#include "campaign/llm/ask.h"
#include "campaign/llm/provider.h"
#include "tests/unit/llm/environment.h"

namespace fb::llm {
namespace {

using record::ModelSpec;

ModelSpec model(std::string_view text) {
  const auto parsed = parse_model(text);
  EXPECT_TRUE(parsed) << to_string(parsed.error(), text);
  return parsed.value_or(ModelSpec());
}

std::string problem(std::string_view text) {
  const auto parsed = parse_model(text);
  return parsed ? "none" : parsed.error().list[0].message;
}

TEST(ModelText, SaysHowAModelIsAsked) {
  EXPECT_EQ(model("openai:gpt-5.1,effort=high,temperature=0.2,max_tokens=32000,label=mine"),
            (ModelSpec{.label = "mine",
                       .provider = "openai",
                       .model = "gpt-5.1",
                       .effort = "high",
                       .temperature = 0.2,
                       .max_output_tokens = 32000}));
  EXPECT_EQ(model("openai-compatible:qwen3:32b,url=http://127.0.0.1:8000/v1/"),
            (ModelSpec{.label = "qwen3-32b",
                       .provider = "openai-compatible",
                       .model = "qwen3:32b",
                       .base_url = "http://127.0.0.1:8000/v1"}));
  EXPECT_EQ(model("openai-compatible:m,allow_http=1,url=http://node17:8000/v1").base_url,
            "http://node17:8000/v1#allow_http");
}

TEST(ModelText, CommandsAndFoldersMayHaveCommas) {
  EXPECT_EQ(model("command:./agent.sh --flag a,b=1,label=mine"),
            (ModelSpec{.label = "mine", .provider = "command", .model = "./agent.sh --flag a,b=1"}));
  EXPECT_EQ(model("command:/opt/my agent/run --fast").label, "my");
  EXPECT_EQ(model("recorded:some/folder, really/"),
            (ModelSpec{.label = "folder-really", .provider = "recorded", .model = "some/folder, really/"}));
}

TEST(ModelText, GivesALabelThatIsOne) {
  EXPECT_EQ(model("openai:gpt-5.1").label, "gpt-5.1");
  EXPECT_EQ(model("openai:gpt-5.1,effort=high").label, "gpt-5.1-high");
  EXPECT_EQ(model("openrouter:deepseek/deepseek-r1:free").label, "deepseek-r1-free");
  EXPECT_EQ(model("command:!!!").label, "model");
  EXPECT_EQ(model("command:" + std::string(500, 'x')).label, std::string(80, 'x'));
  EXPECT_TRUE(record::is_label(model("command:" + std::string(79, 'x') + "!!y").label));
}

TEST(ModelText, WhatIsWrongIsNamed) {
  EXPECT_EQ(problem("gpt-5.1"), "'gpt-5.1' is not a model: write PROVIDER:MODEL, such as openai:gpt-5.1");
  EXPECT_EQ(problem("opnai:gpt-5.1"),
            "there is no provider 'opnai'; known: " + (*load_providers())->names() + " command recorded");
  EXPECT_EQ(problem("openai:"), "'openai:' names no model after 'openai:'");
  EXPECT_EQ(problem("openai:m,efort=high"),
            "unknown setting 'efort'; known: label effort temperature max_tokens url allow_http");
  EXPECT_EQ(problem("openai:m,high"),
            "unknown setting 'high'; known: label effort temperature max_tokens url allow_http");
  EXPECT_EQ(problem("openai:m,temperature=warm"), "'warm' is not a temperature: a number from 0 to 2");
  EXPECT_EQ(problem("openai:m,temperature=nan"), "'nan' is not a temperature: a number from 0 to 2");
  EXPECT_EQ(problem("openai:m,max_tokens=0"), "'0' is not a number of tokens");
  EXPECT_EQ(problem("openai:m,effort=low,effort=high"), "'effort' is set twice");
  EXPECT_EQ(problem("openai:m,label=a b"), "'a b' can't be a label: letters, digits and . _ - +, at most 80");
  EXPECT_EQ(problem("openai-compatible:m"),
            "openai-compatible needs an address: openai-compatible:m,url=http://127.0.0.1:8000/v1");
  EXPECT_EQ(problem("qwen:m,effort=high"), "qwen has no effort 'high'; known: a number of tokens, enabled, none");
  EXPECT_EQ(problem("command:x,effort=high"), "'effort' has no effect on a command model; only 'label' has");
}

TEST(ModelText, KeysAreNotSentInTheOpen) {
  EXPECT_EQ(problem("openai:m,url=http://example.com/v1"),
            "http://example.com/v1 is not encrypted and not on this computer: use https, or set allow_http=1");
  EXPECT_EQ(
      problem("openai:m,url=http://127.0.0.1.example.com/v1"),
      "http://127.0.0.1.example.com/v1 is not encrypted and not on this computer: use https, or set allow_http=1");
  for (const char* telling : {"https://me:secret@example.com/v1", "https://example.com/v1?key=secret", "me:secret@x"}) {
    EXPECT_EQ(problem(std::string("openai:m,url=") + telling),
              "an address must not have a user, a password or a '?': keys come from the environment");
  }
  EXPECT_EQ(problem("openai:m,url=ftp://example.com"),
            "'ftp://example.com' is not an address of a server: it must begin with https:// or http://");
  for (const char* good :
       {"http://localhost:1/v1", "http://127.0.0.1:1/v1", "http://[::1]:1/v1", "https://example.com/v1"})
    EXPECT_EQ(problem(std::string("openai:m,url=") + good), "none") << good;
}

TEST(ModelText, OnlyProvidersOnTheNetCostMoney) {
  EXPECT_TRUE(costs_money(model("openai:m")));
  EXPECT_TRUE(costs_money(model("openai-compatible:m,url=http://localhost/v1")));
  EXPECT_FALSE(costs_money(model("command:cat")));
  EXPECT_FALSE(costs_money(model("recorded:x")));
}

}  // namespace
}  // namespace fb::llm
