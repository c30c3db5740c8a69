#include "common/base/interruption.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace fb {
namespace {

bool noticed() {
  try {
    throw_if_interrupted();
  } catch (const Interrupted&) {
    return true;
  }
  return false;
}

bool readable() {
  pollfd watched{interruption_descriptor(), POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

TEST(Interruption, IsNotLookedForWithoutAGuard) {
  EXPECT_EQ(interruption_descriptor(), -1);
  EXPECT_FALSE(noticed());
}

TEST(Interruption, ChangesNothingWhereNoSignalComes) {
  {
    const InterruptionGuard guard;
    EXPECT_GE(interruption_descriptor(), 0);
    EXPECT_FALSE(readable());
    EXPECT_FALSE(noticed());
  }
  EXPECT_EQ(interruption_descriptor(), -1);
  struct sigaction now{};
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

// Says what it saw: what comes out of a process that ends by a signal.
void interrupted_by(int signal) {
  const InterruptionGuard outer;
  {
    const InterruptionGuard inner;
    raise(signal);
    raise(SIGTERM);  // the first one counts
    std::fprintf(stderr, "%s ", noticed() && readable() ? "noticed" : "missed");
  }
  std::fputs("and lived on\n", stderr);
}

TEST(Interruption, EndsTheProcessAtTheEndOfTheOutermostGuard) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    EXPECT_EXIT(interrupted_by(signal), testing::KilledBySignal(signal), "noticed and lived on");
}

TEST(Interruption, IsIgnoredWhereItWasIgnored) {
  EXPECT_EXIT(
      {
        signal(SIGHUP, SIG_IGN);
        {
          const InterruptionGuard guard;
          raise(SIGHUP);
          if (noticed()) std::_Exit(1);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fb
