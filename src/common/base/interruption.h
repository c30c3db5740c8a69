#pragma once

// Ctrl-C while there are child processes and files to clean up. While a guard lives, SIGINT, SIGTERM and SIGHUP do not
// end the process: the signal is noted, blocking calls throw Interrupted, the work unwinds, and the end of the guard
// raises the signal again.

#include <stdexcept>

namespace fb {

class InterruptionGuard {
 public:
  // Guards may be nested; the outermost counts. Throws std::system_error.
  InterruptionGuard();
  // Ends the process if a signal has come.
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;
};

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};
// Throws Interrupted if a signal has come.
void throw_if_interrupted();

// To poll together with other descriptors: readable once a signal has come. -1 without a guard.
int interruption_descriptor();

// For a child of fork: signals that come from now on are noted for this process alone. Throws std::system_error.
void separate_interruption();

}  // namespace fb
