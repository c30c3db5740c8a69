#pragma once

// Ctrl-C while there are processes and files that must not be left. While a guard lives, SIGINT, SIGTERM and SIGHUP do
// not end the process: they are noted, whoever waits notices, the work unwinds, and the guard's end raises the signal
// again.

#include <stdexcept>

namespace fb {

class InterruptionGuard {
 public:
  // Guards may be nested; the outermost counts. Throws std::system_error.
  InterruptionGuard();
  // Ends the process where a signal has come.
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;
};

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};
// Throws Interrupted where a signal has come.
void throw_if_interrupted();

// To poll along with what one waits for: readable as soon as a signal has come. -1 without a guard.
int interruption_descriptor();

}  // namespace fb
