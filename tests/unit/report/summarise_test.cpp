// Every figure of a summary against one that is computed by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "campaign/report/summary.h"
#include "tests/unit/report/made_run.h"

namespace fb::report {
namespace {

using Runs = std::vector<record::Run>;

Summary summary_of(const Runs& runs, const SummaryOptions& options = {}) {
  auto summary = summarise(runs, options);
  EXPECT_TRUE(summary) << to_string(summary.error(), "");
  return summary ? *summary : Summary{};
}

const Model& model_of(const Summary& summary, std::string_view label) {
  return *std::ranges::find(summary.models, label, &Model::label);
}

const Cell& cell_of(const Summary& summary, std::string_view label, std::string_view problem) {
  const auto found = std::ranges::find(summary.problems, problem, &Problem::name);
  return model_of(summary, label).cells[static_cast<size_t>(found - summary.problems.begin())];
}

bool has_note(const Summary& summary, std::string_view text) {
  return std::ranges::any_of(summary.notes, [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

TEST(Summarise, EveryProblemWeighsTheSame) {
  Runs runs = {made_run({"a"}, {"p", "q"})};
  // p: 1 of 4 samples, q: 1 of 1. Mean of 1/4 and 1 = 0.625; by samples it would be 2/5.
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "wrong"), made_attempt("a", "p", 2, 1, "pass", 1.0),
                      made_attempt("a", "p", 3, 1, "race"), made_attempt("a", "p", 4, 1, "deadlock"),
                      made_attempt("a", "q", 1, 1, "pass", 1.0)};
  const Summary summary = summary_of(runs);
  const Scores& scores = summary.models[0].scores;
  EXPECT_EQ(scores.problems, 2);
  EXPECT_EQ(scores.problems_passed, 2);
  EXPECT_EQ(scores.samples, 5);
  EXPECT_EQ(scores.samples_passed, 2);
  EXPECT_DOUBLE_EQ(*scores.pass_rate.value, 0.625);
  EXPECT_TRUE(scores.pass_rate.interval);
}

TEST(Summarise, PassAtKLeavesOutProblemsWithFewerSamples) {
  Runs runs = {made_run({"a"}, {"p", "q"})};
  // p: 1 of 3; q: 1 of 2. pass@1 = (1/3 + 1/2) / 2; pass@2 = ((1 - C(2,2)/C(3,2)) + (1 - 0)) / 2 = (2/3 + 1) / 2;
  // pass@3: p alone, 1.
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 1.0), made_attempt("a", "p", 2, 1, "wrong"),
                      made_attempt("a", "p", 3, 1, "wrong"), made_attempt("a", "q", 1, 1, "pass", 1.0),
                      made_attempt("a", "q", 2, 1, "wrong")};
  const Summary summary = summary_of(runs);
  const std::vector<PassAt>& at = summary.models[0].pass_at;
  ASSERT_EQ(at.size(), 3);
  EXPECT_DOUBLE_EQ(*at[0].rate.value, 5.0 / 12);
  EXPECT_EQ(at[0].rate.value, summary.models[0].scores.pass_rate.value);
  EXPECT_DOUBLE_EQ(*at[1].rate.value, 5.0 / 6);
  EXPECT_EQ(at[1].problems, 2);
  EXPECT_DOUBLE_EQ(*at[2].rate.value, 1);
  EXPECT_EQ(at[2].problems, 1);
  // What is asked for, in order, once.
  const Summary some = summary_of(runs, {.k = {5, 2, 2}});
  ASSERT_EQ(some.models[0].pass_at.size(), 2);
  EXPECT_EQ(some.models[0].pass_at[0].k, 2);
  EXPECT_EQ(some.models[0].pass_at[1].problems, 0);
  EXPECT_FALSE(some.models[0].pass_at[1].rate.value);
}

TEST(Summarise, ASamplesSpeedIsThatOfItsBestPassingAttempt) {
  Runs runs = {made_run({"a"}, {"p"}, 4)};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "wrong"), made_attempt("a", "p", 1, 2, "pass", 0.5, 0.2),
                      made_attempt("a", "p", 1, 3, "pass", 0.9, 0.3), made_attempt("a", "p", 1, 4, "pass", 0.9, 0.8),
                      made_attempt("a", "p", 1, 5, "wrong")};
  const Summary summary = summary_of(runs);
  const Sample& sample = summary.models[0].cells[0].samples.at(0);
  EXPECT_TRUE(sample.passed);
  EXPECT_EQ(sample.passed_in_round, 2);
  EXPECT_EQ(sample.best, 2);  // the first of the two with 0.9
  EXPECT_EQ(sample.speed, 0.9);
  EXPECT_EQ(sample.sol, 0.3);
  EXPECT_EQ(sample.attempts, 5);
  EXPECT_EQ(sample.outcome, "pass");
}

TEST(Summarise, SpeedsAreGeometricMeansOfSamplesThenOfProblems) {
  Runs runs = {made_run({"a"}, {"p", "q", "r"})};
  // p: sqrt(0.5 × 2) = 1; q: 4; r never passed. GM = sqrt(1 × 4) = 2. Pass rate (1 + 1 + 0) / 3, Pass×GM = 4/3.
  // sol: p sqrt(0.1 × 0.4) = 0.2, q 0.8: sqrt(0.16) = 0.4.
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 0.5, 0.1), made_attempt("a", "p", 2, 1, "pass", 2.0, 0.4),
                      made_attempt("a", "q", 1, 1, "pass", 4.0, 0.8), made_attempt("a", "r", 1, 1, "fault")};
  const Summary summary = summary_of(runs);
  const Scores& scores = summary.models[0].scores;
  EXPECT_NEAR(*scores.gm_speedup.value, 2, 1e-12);
  EXPECT_NEAR(*scores.pass_gm.value, 4.0 / 3, 1e-12);
  EXPECT_NEAR(*scores.sol.value, 0.4, 1e-12);
  EXPECT_NEAR(*cell_of(summary, "a", "p").speed, 1, 1e-12);
  EXPECT_EQ(cell_of(summary, "a", "p").best_speed, 2.0);
  EXPECT_FALSE(cell_of(summary, "a", "r").speed);
}

TEST(Summarise, GoodIsAPassThatIsNotMuchSlowerThanTheReference) {
  Runs runs = {made_run({"a"}, {"p", "q"})};
  // p: 0.95 is good, 0.94 is not: 1/2. q: wrong: 0. PASS+Good = 1/4; from 0.9 on it is 1/2.
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 0.95), made_attempt("a", "p", 2, 1, "pass", 0.94),
                      made_attempt("a", "q", 1, 1, "wrong")};
  EXPECT_DOUBLE_EQ(*summary_of(runs).models[0].scores.pass_good.value, 0.25);
  EXPECT_DOUBLE_EQ(*summary_of(runs, {.good = 0.9}).models[0].scores.pass_good.value, 0.5);
  EXPECT_EQ(summary_of(runs).models[0].cells[0].good, 1);
}

TEST(Summarise, WhatIsOursNeverCounts) {
  Runs runs = {made_run({"a", "b"}, {"p", "q", "r", "s"})};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 1.0),   made_attempt("a", "p", 2, 1, "infra"),
                      made_attempt("a", "q", 1, 1, "unsupported"), made_attempt("a", "q", 2, 1, "infra"),
                      made_attempt("a", "q", 3, 1, "infra"),       made_attempt("a", "r", 1, 1, "failed"),
                      made_attempt("b", "p", 1, 1, "pass", 1.0)};
  const Summary summary = summary_of(runs);
  const Model& a = model_of(summary, "a");
  EXPECT_EQ(a.scores.problems, 1);
  EXPECT_EQ(a.scores.samples, 1);
  EXPECT_EQ(a.scores.pass_rate.value, 1);
  EXPECT_EQ(a.left_out, 5);
  EXPECT_EQ(a.attempts, 6);
  EXPECT_EQ(a.problems_tried, 3);
  EXPECT_EQ(a.samples_tried, 6);
  ASSERT_EQ(a.excluded.size(), 3);
  EXPECT_EQ(summary.problems[a.excluded[0].problem].name, "q");
  EXPECT_EQ(a.excluded[0].reason, "unsupported, infra ×2");
  EXPECT_EQ(a.excluded[1].reason, "failed");
  EXPECT_EQ(a.excluded[2].reason, "not tried");
  EXPECT_EQ(cell_of(summary, "a", "s").attempts, 0);
  EXPECT_EQ(cell_of(summary, "a", "s").outcome, "");
  EXPECT_FALSE(has_note(summary, "different problems"));  // b has p alone as well
}

TEST(Summarise, AnAnswerThatNobodyJudgedDoesNotCount) {
  Runs runs = {made_run({"a"}, {"p"})};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "complete")};
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.models[0].scores.problems, 0);
  EXPECT_EQ(summary.models[0].excluded.at(0).reason, "infra");
}

TEST(Summarise, AFailureInALaterRoundLeavesTheSampleWithTheRoundsThatCount) {
  Runs runs = {made_run({"a"}, {"p", "q", "r"}, 3)};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "wrong"), made_attempt("a", "p", 1, 2, "infra"),
                      made_attempt("a", "q", 1, 1, "infra"), made_attempt("a", "q", 1, 2, "pass", 1.0),
                      made_attempt("a", "r", 1, 1, "wrong"), made_attempt("a", "r", 1, 2, "race"),
                      made_attempt("a", "r", 1, 3, "wrong")};
  const Summary summary = summary_of(runs);
  const Model& a = summary.models[0];
  EXPECT_TRUE(cell_of(summary, "a", "p").samples[0].cut_short);
  EXPECT_EQ(cell_of(summary, "a", "p").samples[0].outcome, "wrong");
  EXPECT_FALSE(cell_of(summary, "a", "q").samples[0].cut_short);
  EXPECT_FALSE(cell_of(summary, "a", "r").samples[0].cut_short);
  EXPECT_EQ(a.cut_short, 1);
  EXPECT_NEAR(*a.scores.pass_rate.value, 1.0 / 3, 1e-12);
  EXPECT_TRUE(has_note(summary, "fewer rounds than planned, which count as not passed: a 1."));
}

TEST(Summarise, RoundsSayWhatTheyAdd) {
  Runs runs = {made_run({"a"}, {"p", "q"}, 3)};
  // p passes in round 1 at 0.5, in round 3 (for speed) at 2; q in round 2 at 0.5. After round 1: 1/2, GM 0.5. After
  // round 2: 1, GM 0.5. After round 3: 1, GM sqrt(2 × 0.5) = 1.
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 0.5), made_attempt("a", "p", 1, 2, "wrong"),
                      made_attempt("a", "p", 1, 3, "pass", 2.0), made_attempt("a", "q", 1, 1, "wrong"),
                      made_attempt("a", "q", 1, 2, "pass", 0.5)};
  const Summary summary = summary_of(runs);
  const std::vector<RoundScores>& rounds = summary.models[0].by_round;
  ASSERT_EQ(rounds.size(), 3);
  EXPECT_EQ(rounds[0].pass_rate.value, 0.5);
  EXPECT_EQ(rounds[0].gain, 0.5);
  EXPECT_EQ(rounds[0].attempts, 2);
  EXPECT_EQ(rounds[0].new_passes, 1);
  EXPECT_NEAR(*rounds[0].pass_gm.value, 0.25, 1e-12);
  EXPECT_EQ(rounds[1].pass_rate.value, 1);
  EXPECT_EQ(rounds[1].gain, 0.5);
  EXPECT_NEAR(*rounds[1].gm_speedup.value, 0.5, 1e-12);
  EXPECT_EQ(rounds[2].gain, 0);
  EXPECT_EQ(rounds[2].new_passes, 0);
  EXPECT_NEAR(*rounds[2].gm_speedup.value, 1, 1e-12);
  EXPECT_EQ(rounds[2].pass_gm.value, summary.models[0].scores.pass_gm.value);
}

TEST(Summarise, PlannedRoundsThatNobodyNeededAreShownToo) {
  Runs runs = {made_run({"a"}, {"p"}, 3)};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 1.0)};
  EXPECT_EQ(summary_of(runs).models[0].by_round.size(), 3);
}

TEST(Summarise, GroupsHaveTheScoresOfTheirProblems) {
  Runs runs = {made_run({"a"}, {"p", "q", "r"})};
  runs[0].problems[1] = R"({"name": "q", "track": "kernel", "category": "ep", "library": "nccl", "level": 3})";
  runs[0].problems[2] = "";
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 0.5), made_attempt("a", "q", 1, 1, "wrong"),
                      made_attempt("a", "r", 1, 1, "pass", 2.0)};
  const Summary summary = summary_of(runs);
  const Model& a = summary.models[0];
  ASSERT_EQ(a.by_level.size(), 3);
  EXPECT_EQ(a.by_level[0].name, "1");
  EXPECT_EQ(a.by_level[0].scores.pass_rate.value, 1);
  EXPECT_NEAR(*a.by_level[0].scores.pass_gm.value, 0.5, 1e-12);
  EXPECT_EQ(a.by_level[1].name, "3");
  EXPECT_EQ(a.by_level[1].scores.pass_rate.value, 0);
  EXPECT_EQ(a.by_level[1].scores.pass_gm.value, 0);
  EXPECT_EQ(a.by_level[2].name, "unknown");
  EXPECT_EQ(a.by_category[0].name, "ep");
  EXPECT_EQ(a.by_category[1].name, "p2p");
  EXPECT_EQ(a.by_library[1].name, "nccl");
  EXPECT_EQ(a.by_track[1].name, "kernel");
  EXPECT_EQ(a.by_track[1].scores.problems, 1);
  EXPECT_TRUE(has_note(summary, "No facts about r"));
}

TEST(Summarise, OutcomesAreCountedByAttemptAndBySample) {
  Runs runs = {made_run({"a"}, {"p"}, 2)};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "wrong"),     made_attempt("a", "p", 1, 2, "pass", 1.0),
                      made_attempt("a", "p", 2, 1, "wrong"),     made_attempt("a", "p", 2, 2, "truncated"),
                      made_attempt("a", "p", 3, 1, "truncated"), made_attempt("a", "p", 3, 2, "failed"),
                      made_attempt("a", "p", 4, 1, "infra")};
  const Summary summary = summary_of(runs);
  const auto count = [&](std::string_view outcome) {
    const auto found = std::ranges::find(summary.models[0].outcomes, outcome, &OutcomeCount::outcome);
    return std::pair(found->attempts, found->samples);
  };
  EXPECT_EQ(count("pass"), std::pair(1U, 1U));
  EXPECT_EQ(count("wrong"), std::pair(2U, 0U));
  EXPECT_EQ(count("truncated"), std::pair(2U, 2U));  // sample 3: of the last attempt that counts
  EXPECT_EQ(count("failed"), std::pair(1U, 0U));
  EXPECT_EQ(count("infra"), std::pair(1U, 1U));
  EXPECT_EQ(count("race"), std::pair(0U, 0U));
  EXPECT_EQ(summary.models[0].outcomes.size(), std::size(kOutcomes));
}

TEST(Summarise, TiersAreSharesOfAllSamples) {
  Runs runs = {made_run({"a"}, {"p", "q"})};
  // p: better, on a par, degraded, severely degraded: 1/8 each; q: 1/2 not passed.
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 1.2), made_attempt("a", "p", 2, 1, "pass", 1.19),
                      made_attempt("a", "p", 3, 1, "pass", 0.6), made_attempt("a", "p", 4, 1, "pass", 0.59),
                      made_attempt("a", "q", 1, 1, "wrong"),     made_attempt("a", "q", 2, 1, "infra")};
  const Summary summary = summary_of(runs);
  const std::vector<Tier>& tiers = summary.models[0].tiers;
  ASSERT_EQ(tiers.size(), std::size(kTiers));
  for (size_t k = 0; k < 4; ++k) EXPECT_DOUBLE_EQ(tiers[k].share, 0.125) << tiers[k].name;
  EXPECT_EQ(tiers[4].share, 0);
  EXPECT_DOUBLE_EQ(tiers[5].share, 0.5);
  EXPECT_EQ(tiers[5].samples, 1);
}

TEST(Summarise, PassesWithoutASpeedCountAsPassesAlone) {
  Runs runs = {made_run({"a", "b"}, {"p", "q"})};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass"), made_attempt("a", "q", 1, 1, "pass"),
                      made_attempt("b", "p", 1, 1, "wrong"), made_attempt("b", "q", 1, 1, "wrong")};
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.ranked_by, "pass_rate");
  const Model& a = summary.models[0];
  EXPECT_EQ(a.label, "a");
  EXPECT_EQ(a.scores.pass_rate.value, 1);
  EXPECT_EQ(a.scores.unscored, 2);
  EXPECT_FALSE(a.scores.gm_speedup.value);
  EXPECT_FALSE(a.scores.pass_gm.value);
  EXPECT_FALSE(a.scores.pass_good.value);
  EXPECT_DOUBLE_EQ(a.tiers[4].share, 1);
  EXPECT_EQ(summary.models[1].scores.pass_gm.value, 0);
  EXPECT_EQ(summary.models[1].scores.pass_good.value, 0);
  EXPECT_TRUE(has_note(summary, "ranked by pass rate"));
}

TEST(Summarise, PricesThatAreNotKnownAreNotZero) {
  Runs runs = {made_run({"a", "b", "c"}, {"p", "q"})};
  const auto priced = [](record::Attempt attempt, std::optional<double> usd, uint64_t in, uint64_t out) {
    attempt.call.usd = usd;
    attempt.call.usage.input_tokens = in;
    attempt.call.usage.output_tokens = out;
    attempt.call.seconds = 2;
    return attempt;
  };
  runs[0].attempts = {priced(made_attempt("a", "p", 1, 1, "pass", 1.0), 0.25, 10, 1),
                      priced(made_attempt("a", "p", 2, 1, "wrong"), 0.5, 20, 2),
                      priced(made_attempt("a", "q", 1, 1, "pass", 1.0), 0.25, 30, 3),
                      priced(made_attempt("a", "q", 2, 1, "failed"), std::nullopt, 0, 0),
                      priced(made_attempt("b", "p", 1, 1, "wrong"), 0.5, 10, 1),
                      priced(made_attempt("b", "q", 1, 1, "wrong"), std::nullopt, 10, 1),
                      priced(made_attempt("c", "p", 1, 1, "pass", 1.0), std::nullopt, 10, 1)};
  runs[0].attempts[3].call.lost = 2;
  const Summary summary = summary_of(runs);
  const Price& a = model_of(summary, "a").price;
  EXPECT_EQ(a.usd, 1.0);
  EXPECT_EQ(a.usd_per_problem, 0.5);
  EXPECT_EQ(a.usd_per_pass, 0.5);
  EXPECT_EQ(a.calls, 3);
  EXPECT_EQ(a.failed_calls, 1);
  EXPECT_EQ(a.without_price, 0);
  EXPECT_EQ(a.lost_tries, 2);
  EXPECT_EQ(a.tokens.input_tokens, 60);
  EXPECT_EQ(a.tokens.output_tokens, 6);
  EXPECT_EQ(a.seconds, 8);
  const Price& b = model_of(summary, "b").price;
  EXPECT_EQ(b.usd, 0.5);
  EXPECT_EQ(b.without_price, 1);
  EXPECT_FALSE(b.usd_per_pass);
  const Price& c = model_of(summary, "c").price;
  EXPECT_FALSE(c.usd);
  EXPECT_FALSE(c.usd_per_problem);
  EXPECT_EQ(c.without_price, 1);
  EXPECT_TRUE(has_note(summary, "unknown price, so that prices are lower bounds: c 1, b 1."));
}

TEST(Summarise, ACellSaysHowFarTheSamplesCame) {
  Runs runs = {made_run({"a"}, {"p", "q"}, 2)};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "compile_error"), made_attempt("a", "p", 1, 2, "race"),
                      made_attempt("a", "p", 2, 1, "wrong"),         made_attempt("a", "p", 2, 2, "truncated"),
                      made_attempt("a", "q", 1, 1, "infra"),         made_attempt("a", "q", 1, 2, "pass", 0.7)};
  const Summary summary = summary_of(runs);
  EXPECT_EQ(cell_of(summary, "a", "p").outcome, "race");
  EXPECT_EQ(cell_of(summary, "a", "p").attempts, 4);
  EXPECT_EQ(cell_of(summary, "a", "p").counted, 2);
  EXPECT_EQ(cell_of(summary, "a", "q").outcome, "pass");
}

// Ranks

// Problems p0 … p39; those before `passed` pass at `speed`.
void try_forty(record::Run& run, const std::string& model, int passed, double speed) {
  for (int k = 0; k < 40; ++k) {
    const bool pass = k < passed;
    run.attempts.push_back(made_attempt(model, fmt::format("p{}", k), 1, 1, pass ? "pass" : "wrong",
                                        pass ? std::optional(speed) : std::nullopt));
  }
}

TEST(Summarise, ModelsAreRankedByPassTimesSpeed) {
  std::vector<std::string> problems;
  for (int k = 0; k < 40; ++k) problems.push_back(fmt::format("p{}", k));
  Runs runs = {made_run({"often", "fast", "twin", "never"}, problems)};
  // 36/40 × 0.5 = 0.45; 20/40 × 1.5 = 0.75, twice; 0. Wilson: 36/40 77–96 %, 20/40 35–65 %; speeds do not vary.
  try_forty(runs[0], "often", 36, 0.5);
  try_forty(runs[0], "fast", 20, 1.5);
  try_forty(runs[0], "twin", 20, 1.5);
  try_forty(runs[0], "never", 0, 0);
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.ranked_by, "pass_gm");
  const auto at = [&](size_t k) { return std::tuple(summary.models[k].label, summary.models[k].rank); };
  EXPECT_EQ(at(0), std::tuple("fast", 1));
  EXPECT_EQ(at(1), std::tuple("twin", 1));
  EXPECT_EQ(at(2), std::tuple("often", 3));
  EXPECT_EQ(at(3), std::tuple("never", 4));
  // fast: 0.52–0.97; often: 0.38–0.48; never: 0–0.09: only the twins overlap.
  EXPECT_EQ(summary.models[0].not_separated, std::vector<size_t>{1});
  EXPECT_EQ(summary.models[0].rank_from, 1);
  EXPECT_EQ(summary.models[0].rank_to, 2);
  EXPECT_TRUE(summary.models[2].not_separated.empty());
  EXPECT_EQ(summary.models[2].rank_from, 3);
  EXPECT_EQ(summary.models[2].rank_to, 3);
  EXPECT_EQ(summary.models[3].rank_from, 4);
}

TEST(Summarise, WhatTheModelsConstantsDoNotSeparateHasNoOrder) {
  std::vector<std::string> problems;
  for (int k = 0; k < 40; ++k) problems.push_back(fmt::format("p{}", k));
  Runs runs = {made_run({"a", "b"}, problems)};
  try_forty(runs[0], "a", 40, 1.5);
  try_forty(runs[0], "b", 40, 1.0);
  EXPECT_TRUE(summary_of(runs).models[0].not_separated.empty());
  EXPECT_FALSE(has_note(summary_of(runs), "Speeds are modelled"));
  for (auto& attempt : runs[0].attempts) {
    const double speed = *attempt.verdict->speed;
    attempt.verdict->speed_range = {speed / 1.3, speed * 1.3};
  }
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.models[0].label, "a");
  EXPECT_EQ(summary.models[0].not_separated, std::vector<size_t>{1});
  EXPECT_EQ(summary.models[0].rank_to, 2);
  EXPECT_NEAR(summary.models[0].scores.gm_speedup.interval->high, 1.5 * 1.3, 1e-9);
  EXPECT_TRUE(has_note(summary, "Speeds are modelled"));
}

TEST(Summarise, AModelWithoutAnyAttemptIsLast) {
  Runs runs = {made_run({"silent", "wrong"}, {"p"})};
  runs[0].attempts = {made_attempt("wrong", "p", 1, 1, "wrong")};
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.models[1].label, "silent");
  EXPECT_EQ(summary.models[1].rank, 2);
  EXPECT_FALSE(summary.models[1].scores.pass_rate.value);
  EXPECT_EQ(summary.models[1].not_separated, std::vector<size_t>{0});
  EXPECT_TRUE(has_note(summary, "different problems"));
}

// Several runs

TEST(Summarise, RunsWithTheSameSettingsArePooled) {
  Runs runs = {made_run({"a"}, {"p", "q"}), made_run({"a", "b"}, {"q", "r"})};
  runs[1].folder = "runs/second";
  runs[1].plan.name = "second";
  runs[1].plan.seed = 99;
  runs[1].plan.samples = 7;
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "wrong"), made_attempt("a", "q", 1, 1, "pass", 1.0)};
  runs[1].attempts = {made_attempt("a", "q", 1, 1, "wrong"), made_attempt("a", "r", 1, 1, "pass", 1.0),
                      made_attempt("b", "q", 1, 1, "pass", 1.0)};
  const Summary summary = summary_of(runs);
  ASSERT_EQ(summary.models.size(), 2);
  const Model& a = model_of(summary, "a");
  EXPECT_EQ(a.runs, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(a.scores.problems, 3);
  EXPECT_DOUBLE_EQ(*a.scores.pass_rate.value, (0 + 0.5 + 1) / 3);
  const Cell& q = cell_of(summary, "a", "q");
  ASSERT_EQ(q.samples.size(), 2);
  EXPECT_EQ(q.samples[0].run, 0);
  EXPECT_EQ(q.samples[0].first, 1);
  EXPECT_EQ(q.samples[1].run, 1);
  EXPECT_EQ(q.samples[1].first, 0);
  EXPECT_EQ(q.samples[1].number, 2);
  EXPECT_EQ(summary.attempts, 5);
  EXPECT_TRUE(has_note(summary, "a: samples of 2 runs are pooled (made, second)."));
}

TEST(Summarise, RunsWithOtherSettingsAreShownApart) {
  Runs runs = {made_run({"a"}, {"p"}), made_run({"a"}, {"p"}), made_run({"a"}, {"p"})};
  runs[1].plan.rounds = 5;
  runs[2].plan.models[0].effort = "high";
  runs[2].plan.name = "thinking";
  for (record::Run& run : runs) run.attempts = {made_attempt("a", "p", 1, 1, "pass", 1.0)};
  const Summary summary = summary_of(runs);
  ASSERT_EQ(summary.models.size(), 3);
  EXPECT_EQ(summary.models[0].label, "a (made)");
  EXPECT_EQ(summary.models[1].label, "a (made) #2");  // both runs have the same name
  EXPECT_EQ(summary.models[2].label, "a (thinking)");
  EXPECT_EQ(model_of(summary, "a (thinking)").runs, std::vector<size_t>{2});
  EXPECT_TRUE(has_note(summary, "different settings (rounds '1' and '5')"));
}

TEST(Summarise, RunsOfDifferentModelsUnderOtherConditionsAreSaid) {
  Runs runs = {made_run({"a"}, {"p"}), made_run({"b"}, {"p"})};
  EXPECT_FALSE(has_note(summary_of(runs), "Runs differ"));
  runs[1].plan.thoroughness = "quick";
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.models[0].label, "a");
  EXPECT_EQ(summary.models[1].label, "b");
  EXPECT_TRUE(has_note(summary, "Runs differ in thoroughness 'full' and 'quick'"));
}

TEST(Summarise, ARunWithoutANameIsCalledAsItsFolder) {
  Runs runs = {made_run({"a"}, {"p"}), made_run({"a"}, {"p"})};
  runs[0].plan.name = runs[1].plan.name = "";
  runs[1].folder = "runs/other/";
  runs[1].plan.prompt = "few_shot";
  const Summary summary = summary_of(runs);
  EXPECT_EQ(summary.models[0].label, "a (made)");
  EXPECT_EQ(summary.models[1].label, "a (other)");
}

TEST(Summarise, ProblemsThatChangedBetweenRunsAreNamed) {
  Runs runs = {made_run({"a"}, {"p"}), made_run({"a"}, {"p"})};
  runs[1].problems[0] = R"({"name": "p", "hash": "other"})";
  EXPECT_TRUE(has_note(summary_of(runs), "Runs differ in the text of p"));
}

// Problems, notes, errors

TEST(Summarise, ProblemsKnowWhatTheyAreAndHowModelsFared) {
  Runs runs = {made_run({"a", "b", "c"}, {"p"})};
  runs[0].problems[0] = R"({"name": "p", "title": "P", "track": "comm", "category": "ep", "library": "cuda", "level": 2,
    "tags": ["t"], "worlds": [4, 2], "platform": "h100x8", "hash": "h", "statement": "# P", "args": "struct Args {};",
    "sizes": [{"name": "one", "values": {"n": 1}, "quick": true, "timed": false}],
    "cost": {"timed": [{"size": "one", "world": 4, "link_bytes": 8, "memory_bytes": 16, "flops": 2}]}})";
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 1.0), made_attempt("a", "p", 2, 1, "wrong"),
                      made_attempt("b", "p", 1, 1, "wrong"), made_attempt("c", "p", 1, 1, "infra")};
  const Problem problem = summary_of(runs).problems.at(0);
  EXPECT_TRUE(problem.known);
  EXPECT_EQ(problem.title, "P");
  EXPECT_EQ(problem.level, 2);
  EXPECT_EQ(problem.worlds, (std::vector<int>{4, 2}));
  EXPECT_EQ(problem.sizes.at(0).values.at(0), (std::pair<std::string, int64_t>("n", 1)));
  EXPECT_TRUE(problem.sizes[0].quick);
  EXPECT_EQ(problem.cost.at(0).memory_bytes, 16);
  EXPECT_EQ(problem.models, 2);
  EXPECT_EQ(problem.models_passed, 1);
  EXPECT_DOUBLE_EQ(*problem.pass_rate, 0.25);
}

TEST(Summarise, VerdictsWithoutASandboxAreSaid) {
  Runs runs = {made_run({"a"}, {"p"})};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "pass", 1.0)};
  EXPECT_FALSE(has_note(summary_of(runs), "sandbox"));
  runs[0].attempts[0].verdict->sandbox = "none";
  EXPECT_TRUE(has_note(summary_of(runs), "1 verdict was given without a sandbox"));
}

TEST(Summarise, ADamagedProblemIsNamedByItsFile) {
  Runs runs = {made_run({"a"}, {"p"})};
  runs[0].problems[0] = "{\"name\": ";
  const auto summary = summarise(runs);
  ASSERT_FALSE(summary);
  EXPECT_NE(to_string(summary.error(), "").find("runs/made/problems/p.json"), std::string::npos);
}

TEST(Summarise, AnAttemptThatIsNotInThePlanIsAnError) {
  Runs runs = {made_run({"a"}, {"p"})};
  runs[0].attempts = {made_attempt("z", "p", 1, 1, "pass", 1.0)};
  const auto summary = summarise(runs);
  ASSERT_FALSE(summary);
  EXPECT_NE(to_string(summary.error(), "").find("an attempt of z at p"), std::string::npos);
}

TEST(Summarise, ARunWithoutAttemptsHasNoFigures) {
  const Summary summary = summary_of({made_run({"a", "b"}, {"p"})});
  EXPECT_EQ(summary.attempts, 0);
  ASSERT_EQ(summary.models.size(), 2);
  for (const Model& model : summary.models) {
    EXPECT_EQ(model.scores.problems, 0);
    EXPECT_FALSE(model.scores.pass_rate.value);
    EXPECT_FALSE(model.scores.pass_gm.value);
    EXPECT_EQ(model.rank, 1);
    EXPECT_EQ(model.rank_to, 2);
    EXPECT_EQ(model.excluded.at(0).reason, "not tried");
  }
  EXPECT_TRUE(summary_of({}).models.empty());
}

}  // namespace
}  // namespace fb::report
