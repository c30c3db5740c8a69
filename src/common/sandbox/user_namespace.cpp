#include "common/sandbox/user_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fb::sandbox {
namespace {

bool write_once(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto length = static_cast<ssize_t>(std::strlen(text));
  const bool written = write(fd, text, static_cast<size_t>(length)) == length;
  const int why = errno;
  close(fd);
  errno = why;
  return written;
}

}  // namespace

int enter_user_namespace() {
  char users[32], groups[32];
  std::snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
  std::snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
  const bool good = unshare(CLONE_NEWUSER) == 0 && write_once("/proc/self/setgroups", "deny") &&
                    write_once("/proc/self/uid_map", users) && write_once("/proc/self/gid_map", groups);
  return good ? 0 : errno;
}

}  // namespace fb::sandbox
