#include "common/record/attempt.h"

#include <gtest/gtest.h>

namespace fb::record {
namespace {

// Every field has a value of its own.
Attempt whole() {
  Attempt a;
  a.model = "atlas-high";
  a.problem = "push_copy";
  a.sample = 3;
  a.round = 2;
  a.for_speed = true;
  a.call = {.end = AnswerEnd::complete,
            .stop_reason = "end_turn",
            .error = "none",
            .model = "atlas-2026-10-01",
            .usage = {.input_tokens = 5,
                      .cached_tokens = 4,
                      .cache_write_tokens = 3,
                      .output_tokens = 2,
                      .reasoning_tokens = 1},
            .usd = 0.1 + 0.2,
            .seconds = 12.5,
            .tries = 4,
            .lost = 1};
  a.verdict = Verdict{};
  a.verdict->verdict = VerdictClass::deadlock;
  a.verdict->seed = ~uint64_t{0};
  a.cached = true;
  return a;
}

TEST(Attempt, SurvivesJson) {
  const Attempt a = whole();
  const auto again = parse_attempt(to_json(a));
  ASSERT_TRUE(again) << to_string(again.error(), "attempt");
  EXPECT_EQ(*again, a);
}

TEST(Attempt, WithoutVerdictSurvivesJson) {
  Attempt a = whole();
  a.verdict.reset();
  a.call.usd.reset();
  a.call.end = AnswerEnd::truncated;
  const auto again = parse_attempt(to_json(a));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, a);
}

TEST(Attempt, WhatIsMissingIsAnError) {
  EXPECT_FALSE(parse_attempt("{}"));
  EXPECT_FALSE(parse_attempt("[]"));
  EXPECT_FALSE(parse_attempt(R"({"model":"m","problem":"p","sample":1,"round":1,"call":{"end":"sometime"}})"));
  EXPECT_TRUE(parse_attempt(R"({"model":"m","problem":"p","sample":1,"round":1,"call":{"end":"refused"}})"));
}

TEST(Attempt, TheOutcomeIsTheVerdictOrTheEndOfTheAnswer) {
  Attempt a = whole();
  EXPECT_EQ(outcome(a), "deadlock");
  a.verdict.reset();
  a.call.end = AnswerEnd::truncated;
  EXPECT_EQ(outcome(a), "truncated");
}

TEST(Attempt, WhatIsOursDoesNotCount) {
  Attempt a = whole();
  EXPECT_TRUE(a.counts());
  for (const VerdictClass ours : {VerdictClass::infra, VerdictClass::unsupported}) {
    a.verdict->verdict = ours;
    EXPECT_FALSE(a.counts()) << to_string(ours);
  }
  a.verdict.reset();
  a.call.end = AnswerEnd::failed;
  EXPECT_FALSE(a.counts());
  a.call.end = AnswerEnd::truncated;
  EXPECT_TRUE(a.counts());
}

TEST(ModelSpec, SurvivesJson) {
  const ModelSpec m{.label = "a",
                    .provider = "openai",
                    .model = "x/y",
                    .base_url = "http://127.0.0.1:1/v1",
                    .effort = "high",
                    .temperature = 0.25,
                    .max_output_tokens = 1000};
  const auto again = parse_model_spec(to_json(m));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, m);
}

TEST(ModelSpec, LabelsAreNamesOfFolders) {
  for (const char* good : {"a", "gpt-5.1", "x_y+z", "4o"}) EXPECT_TRUE(is_label(good)) << good;
  for (const char* bad : {"", ".", "..", "-x", "a/b", "a b", "ä", "a\n"}) EXPECT_FALSE(is_label(bad)) << bad;
  EXPECT_TRUE(is_label(std::string(80, 'a')));
  EXPECT_FALSE(is_label(std::string(81, 'a')));
}

}  // namespace
}  // namespace fb::record
