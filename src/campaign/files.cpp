#include "campaign/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "common/base/unique_fd.h"

namespace fb::campaign {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

UniqueFd open_to_lock(const std::string& path) {
  constexpr int kMode = 0644;
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!file) fail("cannot open " + path);
  return file;
}

// Process ids are not unique across hosts, so the name includes the host.
std::string unique_suffix() {
  static std::atomic<uint64_t> counter = 0;
  constexpr size_t kLongest = 64;
  char host[kLongest + 1] = {};
  gethostname(host, kLongest);
  return fmt::format(".{}.{}.{}.tmp", host, getpid(), counter++);
}

void write_all(const UniqueFd& file, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write " + path);
    content.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void publish(const std::string& path, std::string_view content, Durable durable) {
  const std::string temporary = path + unique_suffix();
  constexpr int kMode = 0644;
  UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) fail("cannot write " + path);
  try {
    write_all(file, content, path);
    if (durable == Durable::yes && fsync(file.get()) != 0) fail("cannot write " + path);
    if (close(file.release()) != 0 && errno != EINTR) fail("cannot write " + path);
    if (rename(temporary.c_str(), path.c_str()) != 0) fail("cannot rename to " + path);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
}

std::optional<UniqueFd> try_lock(const std::string& path) {
  UniqueFd file = open_to_lock(path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) return std::nullopt;
  fail("cannot lock " + path);
}

UniqueFd lock(const std::string& path) {
  UniqueFd file = open_to_lock(path);
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) fail("cannot lock " + path);
  }
  return file;
}

}  // namespace fb::campaign
