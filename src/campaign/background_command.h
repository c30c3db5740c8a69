#pragma once

// A short command that runs while this process does something else.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/base/process.h"

namespace fb::campaign {

// In one line: the command's name, how it ended, and what it wrote.
std::string describe_failure(const std::string& name, const ProcessResult& result);

class BackgroundCommand {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws std::system_error if it can't be started. A command that still runs at the end of this object's life is
  // killed.
  BackgroundCommand(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                    std::chrono::milliseconds time_limit);

  // Readable when it has ended.
  int descriptor() const { return child_.handle(); }
  Clock::time_point deadline() const { return deadline_; }
  // Nothing while it runs; kills it after its time limit.
  std::optional<ProcessResult> poll();
  ProcessResult wait();

 private:
  ProcessResult reap();

  UniqueFd output_, errors_;
  Child child_;
  Clock::time_point deadline_;
};

}  // namespace fb::campaign
