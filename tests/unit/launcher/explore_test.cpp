// Which schedules are tried, and when that ends: with programs that are trees of choices.

#include "launcher/explore.h"

#include <gtest/gtest.h>

#include <set>

namespace fb::launcher {
namespace {

using record::Choice;
using End = Explored::End;

// A program of `depth` choices with `options` ways each; every `free`th of them interrupts no rank. Goes wrong where
// `is_wrong` says so.
struct Tree {
  size_t depth = 0;
  uint32_t options = 2;
  size_t free = 0;
  std::function<bool(const std::vector<uint32_t>&)> is_wrong = {};
  std::set<std::vector<uint32_t>> seen = {};
  std::vector<int> outputs = {};

  Result<LaunchResult> run(const LaunchRequest& request) {
    LaunchResult result;
    std::vector<uint32_t> course;
    for (size_t k = 0; k < depth; ++k) {
      const uint32_t taken = k < request.options.choices->size() ? (*request.options.choices)[k] : 0;
      course.push_back(taken);
      result.record.choices.push_back({taken, options, free == 0 || k % free != 0});
    }
    EXPECT_TRUE(seen.insert(course).second) << "twice: " << record::to_text(course);
    outputs.push_back(request.out);
    result.exit_code = is_wrong && is_wrong(course) ? 1 : 0;
    return result;
  }
  Explored explore(uint32_t preemptions, ExploreLimits limits = {.schedules = 100'000}) {
    return explore_all({}, preemptions, limits, [this](const LaunchRequest& r) { return run(r); }).value();
  }
};

TEST(AllSchedules, AreThoseWithSoManyPreemptions) {
  // 6 choices of two ways: one for each set of at most B of them.
  const uint64_t expected[] = {1, 7, 22, 42, 57, 63, 64, 64};
  for (uint32_t b = 0; b < 8; ++b) {
    Tree tree{.depth = 6};
    const Explored explored = tree.explore(b);
    EXPECT_EQ(explored.end, End::all);
    EXPECT_EQ(explored.schedules, expected[b]);
  }
}

TEST(AllSchedules, CountOnlyWhatInterruptsSomebody) {
  Tree tree{.depth = 4, .options = 3, .free = 1};
  EXPECT_EQ(tree.explore(0).schedules, 81u);
  Tree mixed{.depth = 4, .options = 3, .free = 2};  // two free, two that cost
  EXPECT_EQ(mixed.explore(0).schedules, 9u);
  Tree more{.depth = 4, .options = 3, .free = 2};
  EXPECT_EQ(more.explore(1).schedules, 9u * (1 + 2 * 2));
}

TEST(AllSchedules, EndWhereSomethingIsFound) {
  Tree tree{.depth = 5, .is_wrong = [](const auto& course) { return course[1] == 1 && course[3] == 1; }};
  const Explored explored = tree.explore(2);
  EXPECT_EQ(explored.end, End::found);
  EXPECT_EQ(explored.last.exit_code, 1);
  EXPECT_EQ(*explored.request.options.choices, (std::vector<uint32_t>{0, 1, 0, 1}));
  Tree again{.depth = 5, .is_wrong = tree.is_wrong};
  EXPECT_EQ(again.explore(1).end, End::all);
}

TEST(AllSchedules, EndAtALimitAndSaySo) {
  Tree tree{.depth = 20};
  const Explored explored = tree.explore(20, {.schedules = 50});
  EXPECT_EQ(explored.end, End::limit);
  EXPECT_EQ(explored.schedules, 50u);
  EXPECT_EQ(describe_all(explored, 20),
            "the first 50 schedules with up to 20 preemptions (there are more: --schedules)");
  Tree timed{.depth = 40};
  const Explored late = timed.explore(40, {.schedules = 1u << 30, .time = std::chrono::milliseconds(50)});
  EXPECT_EQ(late.end, End::time);
  EXPECT_GE(late.schedules, 1u);
}

TEST(AllSchedules, AreNotAllWhereTheProgramChangesItsMind) {
  int runs = 0;
  const auto run = [&](const LaunchRequest& request) -> Result<LaunchResult> {
    LaunchResult result;
    const uint32_t taken = request.options.choices->empty() ? 0 : request.options.choices->front();
    result.record.choices = {{taken, ++runs == 2 ? 3u : 2u, true}};
    return result;
  };
  const Explored explored = explore_all({}, 2, {.schedules = 10}, run).value();
  EXPECT_EQ(explored.end, End::unrepeated);
  const auto polls = [&](const LaunchRequest&) -> Result<LaunchResult> {
    LaunchResult result;
    result.record.replayable = false;
    result.record.not_replayable_because = "a host thread polls";
    return result;
  };
  EXPECT_EQ(describe_unrepeated(explore_all({}, 2, {.schedules = 10}, polls).value()),
            "stopped after 1 schedule: the program does not do the same again (a host thread polls)");
}

TEST(AllSchedules, OnlyTheFirstOneSpeaks) {
  Tree tree{.depth = 2};
  tree.explore(1);
  EXPECT_EQ(tree.outputs, (std::vector<int>{1, -1, -1}));
}

TEST(AllSchedules, AreDescribed) {
  Tree tree{.depth = 1};
  EXPECT_EQ(describe_all(tree.explore(1), 1), "all 2 schedules with up to 1 preemption");
}

TEST(Seeds, AreTriedFromOneOnUntilOneGoesWrong) {
  std::vector<uint64_t> seeds;
  const auto run = [&](const LaunchRequest& request) -> Result<LaunchResult> {
    seeds.push_back(request.options.seed);
    LaunchResult result;
    result.exit_code = request.options.seed == 4 ? 1 : 0;
    return result;
  };
  const Explored found = explore_seeds({}, {.schedules = 20}, run).value();
  EXPECT_EQ(found.end, End::found);
  EXPECT_EQ(found.request.options.seed, 4u);
  EXPECT_EQ(seeds, (std::vector<uint64_t>{1, 2, 3, 4}));
  const Explored none = explore_seeds({}, {.schedules = 3}, run).value();
  EXPECT_EQ(none.end, End::limit);
  EXPECT_EQ(describe_seeds(none, {.schedules = 3}), "3 schedules (seeds from 1)");
}

TEST(Seeds, AreCountedWithWhatTheyChecked) {
  const auto run = [](const LaunchRequest& request) -> Result<LaunchResult> {
    LaunchResult result;
    result.record.checked = {.launches = 2, .kernels = 2, .accesses = 700 * request.options.seed};
    return result;
  };
  LaunchRequest request;
  request.options.check = true;
  const Explored explored = explore_seeds(request, {.schedules = 3}, run).value();
  EXPECT_EQ(explored.counts.kernels, 6u);
  EXPECT_EQ(explored.counts.accesses, 4200u);
}

TEST(Seeds, OfAProgramWithoutKernelsEndAtOnceWhereSomethingWasToBeChecked) {
  int runs = 0;
  const auto run = [&](const LaunchRequest&) -> Result<LaunchResult> {
    ++runs;
    return LaunchResult{};
  };
  LaunchRequest request;
  request.options.check = true;
  EXPECT_EQ(explore_seeds(request, {.schedules = 20}, run).value().end, End::nothing);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(explore_seeds({}, {.schedules = 20}, run).value().end, End::limit);
}

LaunchResult checked_run() {
  LaunchResult result;
  result.record.options.check = true;
  return result;
}

TEST(ClosingLine, AlwaysCountsWhatWasChecked) {
  LaunchResult last = checked_run();
  const record::Checked counts{.launches = 40, .kernels = 40, .accesses = 1234567};
  EXPECT_EQ(closing_line("20 schedules (seeds from 1)", counts, last),
            "20 schedules (seeds from 1), 40 kernels, 1,234,567 accesses checked: 0 findings");
  EXPECT_EQ(closing_line("1 schedule (seed 7)", {.launches = 1, .kernels = 1, .library_operations = 2, .accesses = 100},
                         last),
            "1 schedule (seed 7), 1 kernel, 2 library operations, 100 accesses checked: 0 findings");
  last.exit_code = 1;
  last.record.ending = record::Ending::failed;
  EXPECT_EQ(closing_line("3 schedules", counts, last),
            "3 schedules, 40 kernels, 1,234,567 accesses checked: 0 findings, but the program failed");
  last.record.ending = record::Ending::timeout;
  EXPECT_TRUE(closing_line("3 schedules", counts, last).ends_with("0 findings, but the run ended so: timeout"));
  record::Incident race = make_incident(record::IncidentReason::unordered_accesses, 0, "a race");
  race.finding = "race:x";
  record::Incident note = make_incident(record::IncidentReason::byte_history, 0, "a note");
  last.record.incidents = {race, note, make_incident(record::IncidentReason::all_wait, std::nullopt, "all wait")};
  last.record.further_findings = 3;
  EXPECT_EQ(closing_line("3 schedules", counts, last),
            "3 schedules, 40 kernels, 1,234,567 accesses checked: 5 findings");
}

TEST(ClosingLine, SaysWhereNothingWasChecked) {
  LaunchResult last = checked_run();
  EXPECT_TRUE(checked_nothing({}, last));
  EXPECT_EQ(closing_line("1 schedule", {}, last), "nothing was checked: no kernel was launched");
  EXPECT_EQ(closing_line("1 schedule", {.copies = 2, .accesses = 4}, last),
            "nothing was checked: no kernel was launched (there were 2 copies and fills)");
  EXPECT_EQ(closing_line("1 schedule", {.launches = 1}, last), "nothing was checked: no kernel ran to its end");
  EXPECT_EQ(closing_line("1 schedule", {.ignored_errors = 1}, last), "nothing was checked: no kernel ran to its end");
  // Collectives and network cards are checked, too; the program's own failure says more.
  EXPECT_FALSE(checked_nothing({.library_operations = 1}, last));
  EXPECT_FALSE(checked_nothing({.accesses = 1, .card_accesses = 1}, last));
  last.exit_code = 1;
  EXPECT_FALSE(checked_nothing({}, last));
  last = {};
  EXPECT_FALSE(checked_nothing({}, last));
}

TEST(ClosingLine, CountsIgnoredErrorsAndClaimsNothingUnchecked) {
  LaunchResult last = checked_run();
  last.record.options.ignore_errors = true;
  last.record.incidents = {make_incident(record::IncidentReason::kernel_fault, 0, "a fault")};
  EXPECT_EQ(closing_line("1 schedule", {.launches = 2, .kernels = 1, .accesses = 8, .ignored_errors = 1}, last),
            "1 schedule, 1 kernel, 8 accesses checked: 0 findings (note: 1 error ignored)");
  EXPECT_EQ(closing_line("2 schedules", {.kernels = 2}, {}),
            "2 schedules, 2 kernels: every run ended well (--check looks for races)");
}

TEST(Seeds, ThatTimeCutOffSayNothingButTheFirstDoes) {
  const auto run_until = [](uint64_t cut_off) {
    return [cut_off](const LaunchRequest& request) -> Result<LaunchResult> {
      LaunchResult result;
      if (request.options.seed < cut_off) return result;
      result.exit_code = 1;
      result.record.ending = record::Ending::timeout;
      return result;
    };
  };
  const Explored later = explore_seeds({}, {.schedules = 9}, run_until(3)).value();
  EXPECT_EQ(later.end, End::time);
  EXPECT_EQ(later.schedules, 2u);
  EXPECT_EQ(later.last.exit_code, 0);
  EXPECT_EQ(describe_seeds(later, {.schedules = 9}), "2 of 9 schedules (seeds from 1) until time was up");
  EXPECT_EQ(explore_seeds({}, {.schedules = 9}, run_until(1)).value().end, End::found);
}

TEST(Seeds, AProgramThatCannotBeStartedEndsTheSearch) {
  const auto run = [](const LaunchRequest&) -> Result<LaunchResult> { return error("not a program"); };
  EXPECT_FALSE(explore_seeds({}, {.schedules = 3}, run));
}

}  // namespace
}  // namespace fb::launcher
