#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/process.h"
#include "sandbox/sandbox.h"

namespace fb::sandbox {
namespace {

// In a child of fork: system calls only.
bool write_once(const char* path, const char* text, size_t length) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  return fd >= 0 && write(fd, text, length) == static_cast<ssize_t>(length);
}

}  // namespace

// A child makes the namespace and lives until this process has opened it. User and group ids are mapped to themselves.
UserNamespace::UserNamespace() {
  const std::string users = fmt::format("{0} {0} 1", geteuid()), groups = fmt::format("{0} {0} 1", getegid());
  Pipe done = make_pipe(), leave = make_pipe();
  const pid_t child = fork();
  if (child == 0) {
    const bool good = unshare(CLONE_NEWUSER) == 0 && write_once("/proc/self/setgroups", "deny", 4) &&
                      write_once("/proc/self/uid_map", users.data(), users.size()) &&
                      write_once("/proc/self/gid_map", groups.data(), groups.size());
    const int why = good ? 0 : errno;
    if (write(done.writer.get(), &why, sizeof why) != sizeof why) _exit(1);
    leave.writer.reset();
    char unused = 0;
    _exit(read(leave.reader.get(), &unused, 1) == 0 ? 0 : 1);
  }
  int why = child < 0 ? errno : EIO;
  done.writer.reset();
  if (child > 0 && read(done.reader.get(), &why, sizeof why) == sizeof why && why == 0) {
    descriptor_.reset(open(fmt::format("/proc/{}/ns/user", child).c_str(), O_RDONLY | O_CLOEXEC));
    why = descriptor_ ? 0 : errno;
  }
  leave.writer.reset();
  if (child > 0) waitpid(child, nullptr, 0);
  if (why != 0) throw std::system_error(why, std::generic_category(), "cannot make a user namespace");
}

}  // namespace fb::sandbox
