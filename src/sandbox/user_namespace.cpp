#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "sandbox/sandbox.h"

namespace fb::sandbox {
namespace {

[[noreturn]] void fail(int why, const char* what) { throw std::system_error(why, std::generic_category(), what); }

// In a child of fork: system calls only.
bool write_once(const char* path, const char* text, size_t length) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  return fd >= 0 && write(fd, text, length) == static_cast<ssize_t>(length);
}

}  // namespace

// A child makes it and lives until it has been opened. Everybody inside is who he is outside.
UserNamespace::UserNamespace() {
  const std::string users = fmt::format("{0} {0} 1", geteuid()), groups = fmt::format("{0} {0} 1", getegid());
  std::array<int, 2> done, leave;
  if (pipe2(done.data(), O_CLOEXEC) != 0) fail(errno, "pipe");
  if (pipe2(leave.data(), O_CLOEXEC) != 0) fail(errno, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    const bool good = unshare(CLONE_NEWUSER) == 0 && write_once("/proc/self/setgroups", "deny", 4) &&
                      write_once("/proc/self/uid_map", users.data(), users.size()) &&
                      write_once("/proc/self/gid_map", groups.data(), groups.size());
    const int why = good ? 0 : errno;
    if (write(done[1], &why, sizeof why) != sizeof why) _exit(1);
    close(leave[1]);
    char unused = 0;
    _exit(read(leave[0], &unused, 1) == 0 ? 0 : 1);
  }
  int why = child < 0 ? errno : EIO;
  close(done[1]);
  if (child > 0 && read(done[0], &why, sizeof why) == sizeof why && why == 0) {
    const int fd = open(fmt::format("/proc/{}/ns/user", child).c_str(), O_RDONLY);
    descriptor_ = fd;
    why = fd < 0 ? errno : 0;
  }
  for (const int end : {done[0], leave[0], leave[1]}) close(end);
  if (child > 0) waitpid(child, nullptr, 0);
  if (why != 0) fail(why, "cannot make a user namespace");
}

UserNamespace::~UserNamespace() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace fb::sandbox
