#include "toolchain/compile/invocation.h"

#include <fmt/format.h>
#include <signal.h>

#include <stdexcept>

namespace fb::toolchain {

Result<ProcessResult> run_limited(const std::vector<std::string>& command, const TimeLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  ProcessResult run = run_command(command, limits.wall);
  const auto seconds = limits.processor.count();
  if (run.timed_out && seconds == 0) {
    return error(fmt::format("the compiler was stopped after {} s", limits.wall.count()));
  }
  if (run.timed_out) {
    throw std::runtime_error(
        fmt::format("the compiler was stopped after {} s, in which it did not get {} s of processor time: this "
                    "computer is overloaded",
                    limits.wall.count(), seconds));
  }
  // clang catches SIGXCPU, prints a stack dump and runs on until SIGKILL at the hard limit. SIGKILL within less wall
  // time has another sender.
  const bool killed = run.exit_code == 128 + SIGKILL && Clock::now() - begin >= limits.processor;
  if (seconds != 0 && (run.exit_code == 128 + SIGXCPU || killed)) {
    return error(fmt::format("the compiler was stopped after {} s of processor time", seconds));
  }
  return run;
}

}  // namespace fb::toolchain
