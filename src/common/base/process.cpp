#include "common/base/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/interruption.h"

namespace fb {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = 1u << 20;

[[noreturn]] void fail(int why, const std::string& what) {
  throw std::system_error(why, std::generic_category(), what);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const auto& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

bool attach(int fd, int as, int flags) {
  const int from = fd >= 0 ? fd : open("/dev/null", flags);
  return from >= 0 && dup2(from, as) >= 0;
}

// Runs in the child between vfork and exec, in the parent's memory: system calls only. Returns if something failed,
// with errno set.
void exec_child(const SpawnOptions& options, pid_t parent, char* const* arguments, char* const* environment) {
  if (options.outlives) {
    setsid();
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (getppid() != parent) _exit(127);  // the parent ended before the death signal was set
  }
  if (options.fixed_addresses) personality(ADDR_NO_RANDOMIZE);
  constexpr int kLowPriority = 10;
  if (options.low_priority) setpriority(PRIO_PROCESS, 0, kLowPriority);
  constexpr rlimit kNone{0, 0};
  setrlimit(RLIMIT_CORE, &kNone);
  if (options.data_limit != 0) {
    const rlimit data{options.data_limit, options.data_limit};
    setrlimit(RLIMIT_DATA, &data);
  }
  // Before signals are let in: the parent's handlers would run in the parent's memory.
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now = {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN && now.sa_handler != SIG_DFL)
      signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (!attach(options.in, STDIN_FILENO, O_RDONLY) || !attach(options.out, STDOUT_FILENO, O_WRONLY) ||
      !attach(options.err, STDERR_FILENO, O_WRONLY)) {
    return;
  }
  // Also those that this process inherited itself without close-on-exec.
  close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  for (const int fd : options.inherited) {
    if (fcntl(fd, F_SETFD, 0) != 0) return;
  }
  execve(arguments[0], arguments, environment);
}

void wait_for(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

void wait_until_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  while (poll(&watched, 1, -1) < 0 && errno == EINTR) continue;
}

// One read; false at the end of the output, or if a pipe that does not block is empty.
bool read_some(int fd, std::string& output) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  const auto bytes = static_cast<size_t>(got);
  output.append(buffer.data(), std::min(bytes, kMostOutput - output.size()));
  return bytes > 0;
}

// Collects output until the process ends; false if the deadline comes first.
bool wait_for_end(const Child& child, int pipe, Clock::time_point deadline, std::string& output) {
  std::array<pollfd, 3> watched = {pollfd{child.handle(), POLLIN, 0}, pollfd{pipe, POLLIN, 0},
                                   pollfd{interruption_descriptor(), POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = poll(watched.data(), watched.size(), static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready == 0) return false;
    if (ready < 0) {
      if (errno != EINTR) fail(errno, "poll");
      continue;
    }
    throw_if_interrupted();
    if (watched[1].revents != 0 && !read_some(pipe, output)) watched[1].fd = -1;
    if (watched[0].revents != 0) return true;
  }
}

}  // namespace

Pipe make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> list;
  for (char** variable = environ; *variable != nullptr; ++variable) list.emplace_back(*variable);
  return list;
}

Child::Child(Child&& other) noexcept
    : id_(std::exchange(other.id_, 0)),
      outlives_(other.outlives_),
      handle_(std::move(other.handle_)),
      status_(std::move(other.status_)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    id_ = std::exchange(other.id_, 0);
    outlives_ = other.outlives_;
    handle_ = std::move(other.handle_);
    status_ = std::move(other.status_);
  }
  return *this;
}

void Child::end() {
  if (id_ == 0 || outlives_) return;
  kill_group();
  if (is_ours()) {
    wait_for(id_);
  } else {
    wait_until_readable(handle_.get());
  }
  id_ = 0;
}

void Child::send_signal(int signal) const {
  if (id_ != 0) kill(id_, signal);
}

void Child::send_signal_to_group(int signal) const {
  if (id_ != 0) kill(-id_, signal);
}

int Child::reap() {
  FB_CHECK(id_ != 0);
  int status = 0;
  if (!is_ours()) {
    wait_until_readable(handle_.get());
    id_ = 0;
    handle_.reset();
    return status_();
  }
  while (waitpid(id_, &status, 0) < 0) {
    if (errno != EINTR) fail(errno, "waitpid");
  }
  id_ = 0;
  handle_.reset();
  return status;
}

bool Child::try_reap() {
  if (id_ == 0) return true;
  FB_CHECK(is_ours());
  if (waitpid(id_, nullptr, WNOHANG) == 0) return false;
  id_ = 0;
  handle_.reset();
  return true;
}

Child spawn(const SpawnOptions& options) {
  FB_CHECK(!options.command.empty());
  const auto arguments = pointers(options.command), environment = pointers(options.environment);
  const std::string what = "cannot start " + options.command[0];
  Pipe failure = make_pipe();
  const pid_t parent = getpid();
  // The child borrows this process's memory until it is another program: to copy the page tables of a judge takes
  // longer than all the rest. No handler of ours may run in it meanwhile; it opens its own mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t id = vfork();  // NOLINT(bugprone-unsafe-functions): posix_spawn can do less in the child
  if (id != 0) {
    const int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (id < 0) fail(why, what);
  } else {
    exec_child(options, parent, arguments.data(), environment.data());
    const int why = errno;
    if (write(failure.writer.get(), &why, sizeof why) < 0) _exit(126);
    _exit(127);
  }
  failure.writer.reset();
  int why = 0;
  ssize_t got = 0;
  while ((got = read(failure.reader.get(), &why, sizeof why)) < 0 && errno == EINTR) continue;
  if (got == sizeof why) {
    wait_for(id);
    fail(why, what);
  }
  Child child;
  child.id_ = id;
  child.handle_.reset(static_cast<int>(syscall(SYS_pidfd_open, id, 0)));
  if (!child.handle_) fail(errno, "pidfd_open");
  child.outlives_ = options.outlives;
  return child;
}

Child adopt(pid_t id, UniqueFd handle, std::function<int()> status) {
  Child child;
  child.id_ = id;
  child.handle_ = std::move(handle);
  child.status_ = std::move(status);
  return child;
}

int exit_code_of(int status) {
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

ProcessResult run_command(const std::vector<std::string>& command, std::chrono::milliseconds time_limit) {
  const auto deadline = Clock::now() + time_limit;
  Pipe output = make_pipe();
  Child child = spawn({.command = command, .out = output.writer.get(), .err = output.writer.get()});
  output.writer.reset();
  ProcessResult result;
  if (wait_for_end(child, output.reader.get(), deadline, result.output)) {
    // The rest of the pipe; a descendant that keeps it open is not waited for.
    fcntl(output.reader.get(), F_SETFL, O_NONBLOCK);
    while (read_some(output.reader.get(), result.output)) continue;
  } else {
    result.timed_out = true;
    child.kill_group();
  }
  result.exit_code = exit_code_of(child.reap());
  return result;
}

}  // namespace fb
