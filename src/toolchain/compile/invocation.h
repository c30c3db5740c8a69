#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/base/process.h"
#include "common/base/result.h"

namespace fb::toolchain {

// A program to run, and the files it needs besides those of the system.
struct Invocation {
  std::vector<std::string> command;
  std::vector<std::string> reads;   // files and folders
  std::vector<std::string> writes;  // folders
};

// Returns the command that runs the program where it sees only those files. Empty: the command itself.
using Wrapper = std::function<std::vector<std::string>(const Invocation&)>;

inline std::vector<std::string> wrapped(const Wrapper& wrapper, const Invocation& invocation) {
  return wrapper ? wrapper(invocation) : invocation.command;
}

// `processor` is the RLIMIT_CPU that the wrapper sets, 0 where it sets none: then `wall` is the limit. Otherwise `wall`
// is a backstop for an overloaded computer.
struct TimeLimits {
  std::chrono::seconds wall{60};
  std::chrono::seconds processor{0};
};

// Runs a compiler. An exceeded limit is an error; the backstop throws std::runtime_error, as the source is not at
// fault.
Result<ProcessResult> run_limited(const std::vector<std::string>& command, const TimeLimits& limits);

}  // namespace fb::toolchain
