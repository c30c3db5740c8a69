#pragma once

// Child processes: spawning them, watching them through a pidfd, ending their process group.

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"

namespace fb {

struct Pipe {
  UniqueFd reader, writer;
};
// Both ends are close-on-exec. Throws std::system_error.
Pipe make_pipe();

// The environment of this process as NAME=VALUE.
std::vector<std::string> own_environment();

// A child is the leader of its own process group, writes no core file, and has no signal blocked and SIGPIPE at its
// default action; other signals that this process ignores (nohup) stay ignored. Of the open descriptors it gets only
// the three standard ones and `inherited`.
struct SpawnOptions {
  std::vector<std::string> command = {};  // command[0] is a path
  std::vector<std::string> environment = own_environment();
  int in = -1, out = -1, err = -1;  // -1: /dev/null
  std::vector<int> inherited = {};  // further descriptors, under the same numbers
  uint64_t data_limit = 0;          // RLIMIT_DATA in bytes; 0: unchanged
  bool low_priority = false;        // for programs that spin while they wait
  bool fixed_addresses = false;     // no address space randomisation
  int death_signal = SIGKILL;       // sent to the child when the spawning thread ends; 0: none
  bool outlives = false;            // runs on after this process: no death signal, and a session of its own
};

// A spawned process. At the end of this object's life a child that was not reaped is killed with its process group and
// reaped, unless it was spawned to outlive this process.
class Child {
 public:
  Child() = default;
  ~Child() { end(); }
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  pid_t id() const { return id_; }              // 0: none, or reaped
  int handle() const { return handle_.get(); }  // pidfd: readable once the process has ended; -1 after reap()
  explicit operator bool() const { return id_ != 0; }

  // Without effect on a child that was reaped.
  void send_signal(int signal) const;
  void send_signal_to_group(int signal) const;
  void kill_group() const { send_signal_to_group(SIGKILL); }

  // Waits for the end and returns the status as waitpid gives it. What is left of the process group runs on: the
  // group's number is reserved only until here, so kill_group() comes first.
  int reap();
  // Reaps a process that has ended; false: it is still running.
  bool try_reap();

 private:
  friend Child spawn(const SpawnOptions& options);
  friend Child adopt(pid_t id, UniqueFd handle, std::function<int()> status);
  void end();
  bool is_ours() const { return !status_; }

  pid_t id_ = 0;
  bool outlives_ = false;
  UniqueFd handle_;
  std::function<int()> status_;  // of a child of another process
};

// Throws std::system_error if the program cannot be started.
Child spawn(const SpawnOptions& options);

// A process that another one has started for this one, and that is not reaped before this one has nothing to do with it
// any more; it leads a process group. `status` returns the status as waitpid gives it, when the process has ended.
Child adopt(pid_t id, UniqueFd handle, std::function<int()> status);

// The exit code of a wait status; 128 + signal number if a signal ended the process.
int exit_code_of(int status);

struct ProcessResult {
  int exit_code = 0;  // 128 + signal number if a signal ended it
  bool timed_out = false;
  std::string output = {};  // standard output, and standard error where `errors` is not used
  std::string errors = {};

  bool succeeded() const { return exit_code == 0 && !timed_out; }
};

// Runs command[0] (a path) without a shell and with empty input, and waits. `output` has standard output and standard
// error together, at most 1 MiB. After `time_limit` the process group is killed. Throws std::system_error if the
// program cannot be started, and Interrupted, after the process group was killed.
ProcessResult run_command(const std::vector<std::string>& command, std::chrono::milliseconds time_limit);

}  // namespace fb
