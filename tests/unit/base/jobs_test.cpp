#include "common/base/jobs.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <new>
#include <thread>

#include "common/base/interruption.h"

namespace fb {
namespace {

using namespace std::chrono_literals;

bool never(size_t, const std::string&) { return false; }

// Counts what all jobs did.
class Shared {
 public:
  Shared() : memory_(mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    new (memory_) Counts;
  }
  ~Shared() { munmap(memory_, sizeof(Counts)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  struct Counts {
    std::atomic<int> begun = 0, now = 0, most = 0, ended = 0;
  };
  Counts* operator->() const { return static_cast<Counts*>(memory_); }

 private:
  void* memory_;
};

// As a session does: waits for its end, and looks for signals. False: none came.
bool wait_for_signal(std::chrono::seconds at_most) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  const timespec limit{at_most.count(), 0};
  return sigtimedwait(&set, nullptr, &limit) == SIGTERM;
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class Jobs : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a process is left";
  }
  size_t descriptors_ = open_descriptors();
  Shared shared_;
};

TEST_F(Jobs, ReturnTheirTextsInOrder) {
  const auto texts = run_jobs(
      6, 3,
      [](size_t k) {
        std::this_thread::sleep_for((5 - k) * 10ms);  // later ones are quicker
        return "job " + std::to_string(k);
      },
      never);
  ASSERT_EQ(texts.size(), 6u);
  for (size_t k = 0; k < 6; ++k) EXPECT_EQ(texts[k], "job " + std::to_string(k));
}

TEST_F(Jobs, MayBeNone) {
  EXPECT_TRUE(run_jobs(0, 4, [](size_t) { return "x"; }, never).empty());
}

TEST_F(Jobs, ReturnTextsOfAnyLength) {
  const auto texts =
      run_jobs(3, 3, [](size_t k) { return std::string(k * 1'000'000, static_cast<char>('a' + k)); }, never);
  EXPECT_EQ(texts[0], "");
  EXPECT_EQ(texts[1], std::string(1'000'000, 'b'));
  EXPECT_EQ(texts[2], std::string(2'000'000, 'c'));
}

TEST_F(Jobs, RunSideBySideAndNoMoreThanAllowed) {
  run_jobs(
      9, 3,
      [&](size_t) {
        const int now = ++shared_->now;
        for (int most = shared_->most; now > most && !shared_->most.compare_exchange_weak(most, now);) {
        }
        std::this_thread::sleep_for(50ms);
        --shared_->now;
        return "";
      },
      never);
  EXPECT_EQ(shared_->most, 3);
}

TEST_F(Jobs, EndAtTheLastOneAndEarlierOnesCount) {
  const auto begin = std::chrono::steady_clock::now();
  const auto texts = run_jobs(
      20, 3,
      [&](size_t k) -> std::string {
        ++shared_->begun;
        if (k == 0) std::this_thread::sleep_for(300ms);
        if (k == 1) {
          while (shared_->begun < 3) std::this_thread::sleep_for(1ms);
          return "last";
        }
        if (k == 2) shared_->ended += wait_for_signal(20s) ? 1 : 0;
        return std::to_string(k);
      },
      [](size_t, const std::string& text) { return text == "last"; });
  ASSERT_EQ(texts.size(), 20u);
  EXPECT_EQ(texts[0], "0") << "it was begun before the last one, and is waited for";
  EXPECT_EQ(texts[1], "last");
  for (size_t k = 2; k < 20; ++k) EXPECT_EQ(texts[k], "") << k;
  EXPECT_EQ(shared_->begun, 3) << "no job was begun after the last one";
  EXPECT_EQ(shared_->ended, 1) << "the one under way was told to end";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(Jobs, AnEarlierLastOneCountsMore) {
  const auto texts = run_jobs(
      2, 2,
      [&](size_t k) -> std::string {
        if (k == 0) {
          while (shared_->ended == 0) std::this_thread::sleep_for(1ms);
          std::this_thread::sleep_for(100ms);
        }
        if (k == 1) ++shared_->ended;
        return "last";
      },
      [](size_t, const std::string& text) { return text == "last"; });
  EXPECT_EQ(texts[0], "last");
  EXPECT_EQ(texts[1], "");
}

TEST_F(Jobs, ThatDieHaveReturnedNothing) {
  const auto texts = run_jobs(
      5, 2,
      [](size_t k) -> std::string {
        if (k == 1) raise(SIGKILL);
        if (k == 2) throw std::runtime_error("on purpose");
        if (k == 3) _exit(0);
        return "good";
      },
      never);
  EXPECT_EQ(texts, (std::vector<std::string>{"good", "", "", "", "good"}));
}

TEST_F(Jobs, AreNotEndedByASignalButSeeIt) {
  const auto texts = run_jobs(
      1, 1,
      [](size_t) -> std::string {
        raise(SIGINT);
        raise(SIGHUP);
        raise(SIGTERM);
        return wait_for_signal(1s) ? "seen" : "not seen";
      },
      never);
  EXPECT_EQ(texts[0], "seen");
}

TEST_F(Jobs, MayHaveSignalsDeliveredToTheirOwnGuard) {
  const InterruptionGuard guard;
  const auto texts = run_jobs(
      2, 1,
      [](size_t) -> std::string {
        raise(SIGTERM);
        try {
          throw_if_interrupted();
        } catch (const Interrupted&) {
          return "interrupted";
        }
        return "not interrupted";
      },
      never, JobSignals::delivered);
  EXPECT_EQ(texts, (std::vector<std::string>{"interrupted", "interrupted"}));
  pollfd watched{interruption_descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 0), 0) << "a job's signal is not this process's";
}

TEST_F(Jobs, LeaveTheCallersSignalsAsTheyWere) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  run_jobs(1, 1, [](size_t) { return ""; }, never);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

// Ends this process by SIGINT, which the first job sends, if all is as it should be.
void interrupt_jobs(Shared& shared) {
  const InterruptionGuard guard;
  try {
    run_jobs(
        8, 2,
        [&](size_t k) -> std::string {
          ++shared->begun;
          while (shared->begun < 2) std::this_thread::sleep_for(1ms);
          if (k == 0) kill(getppid(), SIGINT);
          shared->ended += wait_for_signal(20s) ? 1 : 0;
          return "";
        },
        never);
  } catch (const Interrupted&) {
    if (waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) ++shared->most;
  }
}

TEST_F(Jobs, AreEndedBeforeCtrlCEndsTheCaller) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(interrupt_jobs(shared_), testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(shared_->begun, 2);
  EXPECT_EQ(shared_->ended, 2);
  EXPECT_EQ(shared_->most, 1) << "all were waited for";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

}  // namespace
}  // namespace fb
