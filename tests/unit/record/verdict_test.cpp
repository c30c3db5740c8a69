#include "common/record/verdict.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string_view>

#include "common/record/attempt.h"

namespace fb::record {
namespace {

// Every field has a value of its own.
Verdict whole() {
  Verdict v;
  v.verdict = VerdictClass::wrong;
  v.summary = "out[5] on rank 2 is 3.5";
  v.explanation = "First line.\nSecond \"line\" \\ with a tab\t, and ±.\n";
  v.notes = {"one", "two"};
  v.location = {.size = "odd", .world = 4, .rank = 2, .call = 1, .schedule = 0xFEDCBA9876543211u};
  v.problem = "push_copy";
  v.problem_hash = "aa";
  v.pack = "core";
  v.pack_version = "1.2";
  v.candidate_hash = "bb";
  v.judged_lines = {3, 40};
  v.backend = "cuda";
  v.platform = "pcie_x4";
  v.thoroughness = "quick";
  v.seed = std::numeric_limits<uint64_t>::max();
  v.replayable = false;
  v.sandbox = "none";
  v.version = "0.4";
  v.identity = "00ff";
  v.sessions = 7;
  v.schedules = 5;
  v.calls = 42;
  v.values = uint64_t{1} << 60;
  v.instructions = (uint64_t{1} << 62) + 1;
  v.timings = {{.size = "64KiB",
                .world = 8,
                .begin_seconds = 0.7e-6,
                .seconds = 1.1e-6,
                .reference_seconds = 2.2e-6,
                .limit_seconds = 0.1e-6,
                .range = {1.0e-6, 1.2e-6},
                .speed_range = {1.9, 2.1},
                .sensitivity = {{"latency", 0.6}, {"launch", 0.3}},
                .moved = {.peer_out = 1, .peer_in = 2, .to_host = 3, .from_host = 4, .memory = uint64_t{1} << 40},
                .link_use = 0.25,
                .memory_use = 0.125,
                .bound = "bound by launches"},
               {.size = "1MiB", .world = 8, .seconds = 1.0 / 3}};
  v.speed = 0.1 + 0.2;  // no short decimal
  v.speed_range = {0.2, 0.4};
  v.sol = 0.5;
  v.wall_seconds = {{"all", 1.25}, {"build", 0.5}};
  v.processor_seconds = {{"all", 2.5}, {"timed machine", 0.75}};
  return v;
}

Verdict again(const Verdict& v) { return parse_verdict(to_json(v)).value(); }

TEST(Verdict, KeepsEveryFieldThroughJson) { EXPECT_EQ(again(whole()), whole()); }

TEST(Verdict, ReadsTheSensitivityOfEarlierVersions) {
  std::string json = to_json(whole());
  const std::string name = "\"sensitivity\"";
  const size_t at = json.find(name);
  ASSERT_NE(at, std::string::npos);
  json.replace(at, name.size(), "\"answers_to\"");
  EXPECT_EQ(parse_verdict(json).value(), whole());
}

TEST(Verdict, KeepsDefaultsThroughJson) {
  const Verdict defaults;
  const Verdict read = again(defaults);
  EXPECT_EQ(read, defaults);
  EXPECT_FALSE(read.speed);
}

TEST(Verdict, EveryClassHasANameThatIsReadBack) {
  for (const VerdictClass one : kVerdictClasses) {
    EXPECT_EQ(verdict_class_from(to_string(one)), one);
    Verdict v;
    v.verdict = one;
    EXPECT_EQ(again(v).verdict, one);
  }
}

TEST(Outcomes, HaveARowForEveryClassAndEveryEnd) {
  std::set<std::string_view> names, labels, signs;
  for (const VerdictClass one : kVerdictClasses) names.insert(to_string(one));
  for (const AnswerEnd end : kAnswerEnds) {
    if (end != AnswerEnd::complete) names.insert(to_string(end));
    EXPECT_EQ(answer_end_from(to_string(end)), end);
  }
  EXPECT_EQ(names.size(), kVerdictClasses.size() + kAnswerEnds.size() - 1);
  EXPECT_EQ(names.size(), kOutcomes.size());
  for (const Outcome& outcome : kOutcomes) {
    EXPECT_TRUE(names.contains(outcome.name)) << outcome.name;
    EXPECT_EQ(outcome_named(outcome.name), &outcome);
    EXPECT_TRUE(labels.insert(outcome.label).second) << outcome.label;
    EXPECT_TRUE(signs.insert(outcome.sign).second) << outcome.sign;
    EXPECT_TRUE(outcome.meaning.ends_with('.')) << outcome.name;
    EXPECT_EQ(outcome.counts, !outcome.meaning.ends_with("Not counted against the model.")) << outcome.name;
  }
  EXPECT_EQ(outcome_named("complete"), nullptr);
}

// Scripts depend on it: 0 for a pass alone, 2 where there is no judgement.
TEST(Outcomes, ExitCodesFollowFromTheClass) {
  for (const VerdictClass one : kVerdictClasses)
    EXPECT_EQ(exit_code_of(one), one == VerdictClass::pass ? 0 : one == VerdictClass::infra ? 2 : 1) << to_string(one);
}

TEST(Verdict, AClassOfALaterVersionIsOursToFix) {
  EXPECT_EQ(verdict_class_from("tired"), std::nullopt);
  EXPECT_EQ(verdict_class_from(""), std::nullopt);
  EXPECT_EQ(parse_verdict(R"({"class": "tired"})").value().verdict, VerdictClass::infra);
}

TEST(Verdict, SeedsHaveAll64Bits) {
  for (const uint64_t seed : {uint64_t{0}, (uint64_t{1} << 53) + 1, uint64_t{1} << 63, ~uint64_t{0}}) {
    Verdict v;
    v.seed = seed;
    v.location.schedule = seed;
    EXPECT_EQ(again(v).seed, seed);
    EXPECT_EQ(again(v).location.schedule, seed);
  }
  // Readers whose numbers are doubles get text.
  Verdict v;
  v.seed = ~uint64_t{0};
  EXPECT_NE(to_json(v).find("\"seed\": \"18446744073709551615\""), std::string::npos);
}

TEST(Verdict, WhatIsNoTextIsReplacedAndTheRestStays) {
  Verdict v;
  v.explanation = "before \xFF\xC0 after";
  v.notes = {"\x80"};
  const std::string text = again(v).explanation;
  EXPECT_TRUE(text.starts_with("before ")) << text;
  EXPECT_TRUE(text.ends_with(" after")) << text;
  EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos) << "U+FFFD stands for it";
  EXPECT_EQ(again(v).notes.size(), 1u);
}

TEST(Verdict, OlderRecordsLackFields) {
  const auto v = parse_verdict(R"({"class": "pass", "problem": "push_copy", "later_field": [1]})");
  ASSERT_TRUE(v);
  Verdict expected;
  expected.verdict = VerdictClass::pass;
  expected.problem = "push_copy";
  EXPECT_EQ(*v, expected);
  EXPECT_EQ(parse_verdict("{}").value(), Verdict{});
  const auto old = parse_verdict(R"({"timings": [{"size": "1MiB", "world": 4, "seconds": 2}]})").value();
  EXPECT_EQ(old.timings, (std::vector<Timing>{{.size = "1MiB", .world = 4, .seconds = 2}}));
  EXPECT_FALSE(old.timings[0].range.known());
  EXPECT_EQ(parse_verdict(R"({"speed": null, "location": null, "seed": null})").value(), Verdict{});
  EXPECT_EQ(parse_verdict(R"({"place": {"size": "odd", "rank": 3, "schedule": "7"}})").value().location,
            (FailureLocation{.size = "odd", .rank = 3, .schedule = 7}));
}

TEST(Verdict, NamesItsSchemaAndRefusesALaterOne) {
  EXPECT_NE(to_json(whole()).find("\"schema\": 1,"), std::string::npos);
  EXPECT_TRUE(parse_verdict(R"({"schema": 1, "class": "pass"})"));
  const auto later = parse_verdict(R"({"schema": 2, "class": "pass"})");
  ASSERT_FALSE(later);
  EXPECT_NE(in_one_line(later.error()).find("later version"), std::string::npos);
}

TEST(Verdict, WhatIsNoVerdictIsAnError) {
  for (const char* text : {"", "{", "[]", "3", "{\"class\": 3}", "{\"seed\": \"many\"}", "{\"calls\": \"many\"}",
                           "{\"summary\": {}}", "{\"class\": \"pass\"} trailing"})
    EXPECT_FALSE(parse_verdict(text)) << text;
}

}  // namespace
}  // namespace fb::record
