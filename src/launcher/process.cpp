#include "launcher/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace fb::launcher {
namespace {

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

// Between fork and exec: system calls only. Returns where something failed.
void become(const Start& start, pid_t parent, char* const* arguments, char* const* environment) {
  if (start.outlives) {
    setsid();
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, start.death_signal);
    if (getppid() != parent) _exit(127);  // it died before this was asked for
  }
  if (start.fixed_addresses) personality(ADDR_NO_RANDOMIZE);
  constexpr int kYielding = 10;
  if (start.yielding) setpriority(PRIO_PROCESS, 0, kYielding);
  constexpr rlimit kNone{0, 0};
  setrlimit(RLIMIT_CORE, &kNone);
  if (start.data_limit != 0) {
    const rlimit data{start.data_limit, start.data_limit};
    setrlimit(RLIMIT_DATA, &data);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (!attach(start.in, STDIN_FILENO, O_RDONLY) || !attach(start.out, STDOUT_FILENO, O_WRONLY) ||
      !attach(start.err, STDERR_FILENO, O_WRONLY)) {
    return;
  }
  // Whatever this process has inherited itself is nobody's business.
  close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  for (const int fd : start.inherited) {
    if (fcntl(fd, F_SETFD, 0) != 0) return;
  }
  execve(arguments[0], arguments, environment);
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Pipe make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> list;
  for (char** variable = environ; *variable != nullptr; ++variable) list.emplace_back(*variable);
  return list;
}

Process start_process(const Start& start) {
  const auto arguments = pointers(start.command), environment = pointers(start.environment);
  Pipe failure = make_pipe();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot start " + start.command[0]);
  if (child == 0) {
    become(start, parent, arguments.data(), environment.data());
    const int why = errno;
    if (write(failure.writer.get(), &why, sizeof why) < 0) _exit(126);
    _exit(127);
  }
  failure.writer.reset();
  int why = 0;
  if (read(failure.reader.get(), &why, sizeof why) == sizeof why) {
    waitpid(child, nullptr, 0);
    throw std::system_error(why, std::generic_category(), "cannot start " + start.command[0]);
  }
  Process process{child, Descriptor(static_cast<int>(syscall(SYS_pidfd_open, child, 0)))};
  if (!process.handle) {
    const int reason = errno;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    throw std::system_error(reason, std::generic_category(), "pidfd_open");
  }
  return process;
}

}  // namespace fb::launcher
