#include "launcher/descendants.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace fb::launcher {
namespace {

using namespace std::chrono_literals;

// Uses up processor time, then waits to be ended.
[[noreturn]] void compute(double seconds) {
  while (static_cast<double>(std::clock()) / CLOCKS_PER_SEC < seconds) {
  }
  for (;;) pause();
}

TEST(BusyTime, CountsAProcessAndItsDescendants) {
  int ids[2];
  ASSERT_EQ(pipe(ids), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) compute(0.3);
    (void)!write(ids[1], &grandchild, sizeof grandchild);
    for (;;) pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ids[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  const auto begin = std::chrono::steady_clock::now();
  while (busy_time(child) < 250ms && std::chrono::steady_clock::now() < begin + 30s) usleep(10'000);
  EXPECT_GE(busy_time(child), 250ms);
  usleep(50'000);
  EXPECT_LE(busy_time(child), std::chrono::steady_clock::now() - begin + 50ms);
  kill(grandchild, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(busy_time(child), 0ms);
  close(ids[0]);
  close(ids[1]);
}

// Two processes on one processor: each waits while the other runs, and one that sleeps does not.
TEST(Delay, IsTheTimeInWhichAProcessWaitsForAProcessor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  pid_t children[3] = {};
  for (pid_t& child : children) {
    child = fork();
    ASSERT_GE(child, 0);
    if (child != 0) continue;
    sched_setaffinity(0, sizeof one, &one);
    if (&child == &children[2]) {
      for (;;) pause();
    }
    compute(60);
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::min(delay_of(children[0]), delay_of(children[1])); };
  while (waited() < 100ms && std::chrono::steady_clock::now() < begin + 30s) usleep(10'000);
  EXPECT_GE(waited(), 100ms);
  EXPECT_LT(delay_of(children[2]), delay_of(children[0]));
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(delay_of(children[0]), 0ms);
}

}  // namespace
}  // namespace fb::launcher
