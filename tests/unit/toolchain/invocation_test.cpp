#include "toolchain/compile/invocation.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fb::toolchain {
namespace {

using namespace std::chrono_literals;

const TimeLimits kJudged{.wall = 100s, .processor = 20s};

Result<ProcessResult> run_shell(const char* script, const TimeLimits& limits) {
  return run_limited({"/bin/sh", "-c", script}, limits);
}

std::string error_of(const Result<ProcessResult>& result) { return result ? "none" : in_one_line(result.error()); }

TEST(RunLimited, ReturnsWhatTheCompilerPrints) {
  const auto run = run_shell("echo text; exit 3", kJudged);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_EQ(run->output, "text\n");
}

TEST(RunLimited, WallTimeIsTheLimitWhereThereIsNoOther) {
  EXPECT_EQ(error_of(run_shell("exec sleep 60", {.wall = 1s})), "the compiler was stopped after 1 s");
}

TEST(RunLimited, AnExhaustedBackstopIsNotTheSourcesFault) {
  EXPECT_THROW((void)run_shell("exec sleep 60", {.wall = 1s, .processor = 1s}), std::runtime_error);
}

TEST(RunLimited, ProcessorTimeIsALimitOfTheSource) {
  const std::string expected = "the compiler was stopped after 20 s of processor time";
  EXPECT_EQ(error_of(run_shell("kill -XCPU $$", kJudged)), expected);
  // As clang ends: it catches SIGXCPU, and the hard limit kills it.
  EXPECT_EQ(error_of(run_shell("ulimit -S -t 1; ulimit -H -t 2; trap : XCPU; while :; do :; done",
                               {.wall = 100s, .processor = 1s})),
            "the compiler was stopped after 1 s of processor time");
}

TEST(RunLimited, AKillWithinLessTimeHasAnotherCause) {
  const auto run = run_shell("kill -KILL $$", kJudged);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->exit_code, 137);
}

}  // namespace
}  // namespace fb::toolchain
