#pragma once

// A short command that runs while this process does something else.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/process.h"

namespace fb::campaign {

struct CommandEnd {
  int exit_code = 0;  // 128 + signal number where a signal ended it
  bool timed_out = false;
  std::string output, errors;

  bool good() const { return exit_code == 0 && !timed_out; }
};
// In one line: what failed, and what it said about it.
std::string describe_failure(const std::string& name, const CommandEnd& end);

class BackgroundCommand {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws std::system_error where it can't be started.
  BackgroundCommand(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                    std::chrono::milliseconds time_limit);
  // Kills it if it still runs.
  ~BackgroundCommand();
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;

  // Readable when it has ended.
  int descriptor() const { return process_.handle.get(); }
  Clock::time_point deadline() const { return deadline_; }
  // Nothing while it runs. Kills it when its time is up.
  std::optional<CommandEnd> poll();
  CommandEnd wait();

 private:
  CommandEnd reap();

  launcher::Descriptor output_, errors_;
  launcher::Process process_;
  Clock::time_point deadline_;
};

}  // namespace fb::campaign
