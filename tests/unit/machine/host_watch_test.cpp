#include "virtual_node/machine/server/host_watch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace fb::machine {
namespace {

// A thread that computes until it is told to end.
class Computing {
 public:
  Computing()
      : thread_([this] {
          id = static_cast<uint32_t>(gettid());
          while (!ends_) {
          }
        }) {
    while (id == 0) std::this_thread::yield();
    pthread_getcpuclockid(thread_.native_handle(), &clock_);
  }
  ~Computing() {
    ends_ = true;
    thread_.join();
  }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

  // In milliseconds.
  double processor_time() const {
    timespec t{};
    clock_gettime(clock_, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  }

  std::atomic<uint32_t> id = 0;

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
  clockid_t clock_{};
};

// The processor time behind an answer after which the thread is taken for one that spins; the least of several tries,
// as this thread may be kept from looking.
double spins_after(HostWatch& watch, const Computing& other, int answers, int tries) {
  double least = 1e9;
  for (int k = 0; k < tries; ++k) {
    const double begin = other.processor_time();
    for (int a = 0; a < answers; ++a) watch.answered(getpid(), other.id);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (watch.look(getpid(), {static_cast<uint32_t>(gettid())}, true) == Activity::runs) {
      if (std::chrono::steady_clock::now() > deadline) return 1e9;
    }
    least = std::min(least, other.processor_time() - begin);
  }
  return least;
}

TEST(HostWatch, ComputesForAWhileBeforeItSpins) {
  HostWatch watch(false);
  const Computing other;
  EXPECT_GT(spins_after(watch, other, 1, 1), 95);
}

TEST(HostWatch, SpinsAgainSoonerUnlessItCameOften) {
  HostWatch watch(false);
  const Computing other;
  spins_after(watch, other, 1, 1);
  EXPECT_LT(spins_after(watch, other, 1, 20), 9);
  EXPECT_GT(spins_after(watch, other, 20, 3), 9);
  EXPECT_LT(spins_after(watch, other, 1, 20), 9);
}

}  // namespace
}  // namespace fb::machine
