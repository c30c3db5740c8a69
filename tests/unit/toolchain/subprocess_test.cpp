#include "toolchain/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <system_error>

#include "base/interruption.h"

namespace fb::toolchain {
namespace {

using namespace std::chrono_literals;

TEST(Subprocess, ReturnsOutputAndExitCode) {
  const auto run = run_program({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 10s);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.output, "out\nerr\n");
  EXPECT_FALSE(run.timed_out);
}

TEST(Subprocess, KillsWhatRunsTooLong) {
  const auto start = std::chrono::steady_clock::now();
  const auto run = run_program({"/bin/sh", "-c", "sleep 30 & sleep 30"}, 100ms);
  EXPECT_TRUE(run.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(Subprocess, DoesNotWaitForAGrandchildThatKeepsTheOutput) {
  const auto run = run_program({"/bin/sh", "-c", "sleep 5 & echo done"}, 3s);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.output, "done\n");
}

// Ends this process by SIGTERM.
void run_until_interrupted() {
  const InterruptionGuard guard;
  try {
    // The one that waits is killed, too: it would write.
    run_program({"/bin/sh", "-c", "kill -TERM $PPID; sleep 20; echo lived on >&2"}, 30s);
  } catch (const Interrupted&) {
    std::fputs("thrown\n", stderr);
  }
}

TEST(Subprocess, IsKilledWhenSomebodyInterrupts) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(run_until_interrupted(), testing::KilledBySignal(SIGTERM), "^thrown\n$");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(Subprocess, ThrowsWhereThereIsNoProgram) {
  EXPECT_THROW(run_program({"/no/such/program"}, 1s), std::system_error);
}

}  // namespace
}  // namespace fb::toolchain
