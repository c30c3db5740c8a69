#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace fb::toolchain {

struct Finished {
  int exit_code = 0;  // 128 + signal number where a signal ended it
  bool timed_out = false;
  std::string output;  // standard output and standard error together, at most 1 MiB of it
};

// Runs command[0] (a path) without a shell and with empty input, and waits. When time is up, the program and what it
// started are killed. Throws std::system_error where the program cannot be started, and Interrupted.
Finished run_program(const std::vector<std::string>& command, std::chrono::milliseconds time_limit);

}  // namespace fb::toolchain
