#include "common/record/run_options.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fb::record {
namespace {

std::string line_of(const RunOptions& options) { return fmt::format("{}", fmt::join(command_words(options), " ")); }

// Every option has a value that is not its default.
RunOptions whole() {
  RunOptions o;
  o.platform = "b300x8";
  o.ranks = 4;
  o.seed = ~uint64_t{0};
  o.choices = {0, 2, 1};
  o.mode = AccessMode::strict;
  o.untimed = true;
  o.profile = true;
  o.check = true;
  o.max_reports = 3;
  o.suppressions = "known.txt";
  o.allow = "volatile";
  o.sanitizer = false;
  o.ignore_errors = true;
  o.why = "m7+0x40";
  o.weak_lines = 0;
  o.fresh_memory = 7;
  o.uninitialised = true;
  o.count_branches = true;
  o.verbose = true;
  o.mpi = true;
  o.virtual_clock = true;
  o.slower = "latency=1.1";
  o.budget = 1000;
  o.memory = uint64_t{1} << 30;
  o.device_memory = uint64_t{4} << 30;
  return o;
}

TEST(RunOptions, SurviveJson) {
  const auto read = parse_run_options(to_json(whole()));
  ASSERT_TRUE(read) << to_string(read.error(), "options");
  EXPECT_EQ(*read, whole());
  EXPECT_EQ(parse_run_options(to_json(RunOptions())).value(), RunOptions());
}

TEST(RunOptions, MissingOnesKeepTheirDefaults) {
  EXPECT_EQ(parse_run_options("{}").value(), RunOptions());
  EXPECT_EQ(parse_run_options(R"({"seed": 7})").value().seed, 7u);
  EXPECT_FALSE(parse_run_options(""));
  EXPECT_FALSE(parse_run_options(R"({"mode": "loose"})"));
  EXPECT_FALSE(parse_run_options(R"({"ranks": "many"})"));
}

TEST(RunOptions, TheCommandLineNamesTheScheduleAndWhatIsNotUsual) {
  EXPECT_EQ(line_of({}), "--platform h100x8 --ranks 1 --seed 0 --mode hardware");
  EXPECT_EQ(line_of({.ranks = 2, .seed = 9, .mode = AccessMode::strict, .check = true}),
            "--platform h100x8 --ranks 2 --seed 9 --mode strict --check");
  EXPECT_EQ(line_of({.choices = std::vector<uint32_t>{0, 2, 1}}),
            "--platform h100x8 --ranks 1 --choices 0,2,1 --mode hardware");
  EXPECT_EQ(line_of({.weak_lines = 0, .memory = 512}),
            "--platform h100x8 --ranks 1 --seed 0 --mode hardware --memory 512")
      << "internal options have no flag";
}

TEST(RunOptions, EveryOptionWithAFlagIsOnTheCommandLine) {
  RunOptions options = whole();
  const auto words = command_words(options);
  int flags = 0;
#define RUN_OPTION(form, type, name, initial, help) flags += std::string_view(#form) != "internal";
#include "common/record/run_options.def"
  // All but the seed: the list of choices is the schedule.
  EXPECT_EQ(std::ranges::count_if(words, [](const std::string& word) { return word.starts_with("--"); }), flags - 1);
}

}  // namespace
}  // namespace fb::record
