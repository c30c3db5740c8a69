#include "common/base/interruption.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace fb {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

int guards = 0;  // nested ones, all of one thread
int descriptor = -1;
std::atomic<int> came = 0;  // the first signal; 0: none
std::array<struct sigaction, kSignals.size()> earlier_actions;

void note(int signal) {
  const int error = errno;
  int none = 0;
  came.compare_exchange_strong(none, signal);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t wrote = write(descriptor, &one, sizeof one);
  errno = error;
}

int make_descriptor() {
  const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return made;
}

}  // namespace

InterruptionGuard::InterruptionGuard() {
  if (guards++ > 0) return;
  came = 0;
  try {
    descriptor = make_descriptor();
  } catch (...) {
    guards = 0;
    throw;
  }
  struct sigaction action{};
  action.sa_handler = note;
  for (size_t k = 0; k < kSignals.size(); ++k) {
    sigaction(kSignals[k], nullptr, &earlier_actions[k]);
    // Leave signals that are already ignored (nohup) ignored.
    if (earlier_actions[k].sa_handler != SIG_IGN) sigaction(kSignals[k], &action, nullptr);
  }
}

InterruptionGuard::~InterruptionGuard() {
  if (--guards > 0) return;
  for (size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &earlier_actions[k], nullptr);
  close(descriptor);
  descriptor = -1;
  if (came != 0) raise(came);
}

void throw_if_interrupted() {
  if (guards > 0 && came != 0) throw Interrupted();
}

int interruption_descriptor() { return descriptor; }

void separate_interruption() {
  if (guards == 0) return;
  const int shared = descriptor;
  descriptor = make_descriptor();
  close(shared);
}

}  // namespace fb
