#include "judge/session/outcome.h"

#include <gtest/gtest.h>

namespace fb::judge {
namespace {

SessionOutcome whole() {
  SessionOutcome o;
  o.finding = Ruling{.verdict = record::VerdictClass::deadlock,
                     .summary = "all ranks wait",
                     .explanation = "Rank 0 waits.\nRank 1 waits.\n",
                     .location = {.size = "odd", .world = 4, .rank = 3, .call = 2, .schedule = ~uint64_t{0}}};
  o.timings = {{.size = "large", .world = 8, .seconds = 1.0 / 3}};
  o.calls = 12;
  o.values = 345;
  o.instructions = uint64_t{1} << 60;
  o.replayable = false;
  o.notes = {"not replayable: a thread spins"};
  o.wall_seconds = {{"run", 0.25}, {"oracle", 0.125}};
  o.processor_seconds = {{"machine", 0.5}, {"start", 0.25}};
  return o;
}

TEST(Outcome, CrossesAsText) {
  const SessionOutcome sent = whole();
  const auto got = parse_outcome(to_json(sent));
  ASSERT_TRUE(got);
  ASSERT_TRUE(got->finding);
  EXPECT_EQ(got->finding->verdict, sent.finding->verdict);
  EXPECT_EQ(got->finding->summary, sent.finding->summary);
  EXPECT_EQ(got->finding->explanation, sent.finding->explanation);
  EXPECT_EQ(got->finding->location, sent.finding->location);
  EXPECT_EQ(got->timings, sent.timings);
  EXPECT_EQ(got->calls, sent.calls);
  EXPECT_EQ(got->values, sent.values);
  EXPECT_EQ(got->instructions, sent.instructions);
  EXPECT_EQ(got->replayable, sent.replayable);
  EXPECT_EQ(got->notes, sent.notes);
  EXPECT_EQ(got->wall_seconds, sent.wall_seconds);
  EXPECT_EQ(got->processor_seconds, sent.processor_seconds);
}

TEST(Outcome, NoFindingStaysNone) {
  SessionOutcome sent = whole();
  sent.finding.reset();
  const auto got = parse_outcome(to_json(sent));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->finding);
  EXPECT_EQ(got->timings, sent.timings);
}

TEST(Outcome, EveryFindingIsOne) {
  for (const record::VerdictClass verdict : record::kVerdictClasses) {
    if (verdict == record::VerdictClass::pass) continue;
    SessionOutcome sent;
    sent.finding = Ruling{.verdict = verdict};
    const auto got = parse_outcome(to_json(sent));
    ASSERT_TRUE(got && got->finding);
    EXPECT_EQ(got->finding->verdict, sent.finding->verdict);
  }
}

TEST(Outcome, WhatACandidateWroteMayBeNoText) {
  SessionOutcome sent;
  sent.finding = Ruling{.verdict = record::VerdictClass::fault, .explanation = "it wrote: \xFE\xFF."};
  const auto got = parse_outcome(to_json(sent));
  ASSERT_TRUE(got && got->finding);
  EXPECT_TRUE(got->finding->explanation.starts_with("it wrote: "));
  EXPECT_TRUE(got->finding->explanation.ends_with("."));
}

TEST(Outcome, NothingAndHalfOfOneAreErrors) {
  const std::string text = to_json(whole());
  EXPECT_FALSE(parse_outcome(""));
  EXPECT_FALSE(parse_outcome(std::string_view(text).substr(0, text.size() / 2)));
}

TEST(Outcome, TellsFailuresOfOursFromFindings) {
  SessionOutcome outcome;
  EXPECT_FALSE(is_failure_of_ours(outcome)) << "nothing was found";
  outcome.in_doubt = true;
  EXPECT_FALSE(is_failure_of_ours(outcome)) << "a rank was killed after all was said";
  outcome.finding = Ruling{.verdict = record::VerdictClass::fault};
  EXPECT_TRUE(is_failure_of_ours(*parse_outcome(to_json(outcome))));
  outcome.in_doubt = false;
  EXPECT_FALSE(is_failure_of_ours(outcome));
  outcome.finding->verdict = record::VerdictClass::infra;
  EXPECT_TRUE(is_failure_of_ours(outcome));
  EXPECT_TRUE(is_failure_of_ours(parse_outcome(""))) << "its process was killed";
}

}  // namespace
}  // namespace fb::judge
