#include "toolchain/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/check.h"
#include "base/interruption.h"

namespace fb::toolchain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = 1u << 20;

void check_errno(bool good, const std::string& what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// Starts the program as the leader of a process group of its own, with both outputs going to `output`.
pid_t spawn(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int status = posix_spawn(&child, command[0].c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (status != 0) throw std::system_error(status, std::generic_category(), "cannot start " + command[0]);
  return child;
}

// A started program: killed and reaped at the end of this object's life, if not reaped before.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (id_ == 0) return;
    kill_group();
    waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t id() const { return id_; }
  void kill_group() const { kill(-id_, SIGKILL); }
  int reap() {
    int status = 0;
    while (waitpid(id_, &status, 0) < 0) check_errno(errno == EINTR, "waitpid");
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t id_;
};

// One read; false at the end of the output, or where a pipe that does not block is empty.
bool read_some(int fd, std::string& output) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  const auto bytes = static_cast<size_t>(got);
  output.append(buffer.data(), std::min(bytes, kMostOutput - output.size()));
  return bytes > 0;
}

// Collects output until the program ends; false when time is up first.
bool wait_for_end(int child, int pipe, Clock::time_point deadline, std::string& output) {
  std::array<pollfd, 3> watched = {pollfd{child, POLLIN, 0}, pollfd{pipe, POLLIN, 0},
                                   pollfd{interruption_descriptor(), POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = poll(watched.data(), watched.size(), static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready == 0) return false;
    if (ready < 0) {
      check_errno(errno == EINTR, "poll");
      continue;
    }
    throw_if_interrupted();
    if (watched[1].revents != 0 && !read_some(pipe, output)) watched[1].fd = -1;
    if (watched[0].revents != 0) return true;
  }
}

}  // namespace

Finished run_program(const std::vector<std::string>& command, std::chrono::milliseconds time_limit) {
  FB_CHECK(!command.empty());
  std::array<int, 2> ends;
  check_errno(pipe2(ends.data(), O_CLOEXEC) == 0, "pipe");
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const auto deadline = Clock::now() + time_limit;
  Child child(spawn(command, writer.get()));
  writer.reset();

  Finished finished;
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, child.id(), 0)));
  check_errno(handle.get() >= 0, "pidfd_open");
  if (wait_for_end(handle.get(), reader.get(), deadline, finished.output)) {
    // What is still in the pipe; a grandchild that keeps it open is not waited for.
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    while (read_some(reader.get(), finished.output)) continue;
  } else {
    finished.timed_out = true;
    child.kill_group();
  }
  finished.exit_code = child.reap();
  return finished;
}

}  // namespace fb::toolchain
