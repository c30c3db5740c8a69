#include "common/base/processor_time.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace fb {
namespace {

constexpr double kWork = 0.05;

void compute(double seconds) {
  const double end = thread_seconds() + seconds;
  while (thread_seconds() < end) continue;
}

TEST(ProcessorTime, OtherThreadsCountForTheProcessAlone) {
  const double thread = thread_seconds(), process = process_seconds();
  std::thread([] { compute(kWork); }).join();
  EXPECT_LT(thread_seconds() - thread, kWork);
  EXPECT_GE(process_seconds() - process, kWork);
}

TEST(ProcessorTime, SleepTakesNone) {
  const double before = process_seconds();
  usleep(100'000);
  EXPECT_LT(process_seconds() - before, 0.1);
}

TEST(ProcessorTime, AChildIsSeenWhileItLivesAndCountedWhenItIsReaped) {
  const double reaped = reaped_seconds(), all = all_seconds();
  const pid_t child = fork();
  if (child == 0) {
    compute(kWork);
    _exit(0);
  }
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_GE(process_seconds(child), kWork);
  EXPECT_LT(reaped_seconds() - reaped, kWork / 2);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_GE(reaped_seconds() - reaped, kWork * 0.9);
  EXPECT_GE(all_seconds() - all, kWork * 0.9);
  EXPECT_EQ(process_seconds(child), 0);
}

}  // namespace
}  // namespace fb
