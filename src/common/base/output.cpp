#include "common/base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace fb {
namespace {

// The first reason; threads may print.
std::atomic<int> lost_out = 0, lost_error = 0;

void note(std::FILE* out, int reason) { note_lost_output(out == stdout ? STDOUT_FILENO : STDERR_FILENO, reason); }

}  // namespace

void note_lost_output(int fd, int reason) {
  if (fd != STDOUT_FILENO && fd != STDERR_FILENO) return;
  int none = 0;
  (fd == STDOUT_FILENO ? lost_out : lost_error).compare_exchange_strong(none, reason == 0 ? EIO : reason);
}

void print_text(std::FILE* out, std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) note(out, errno);
}

void flush(std::FILE* out) {
  errno = 0;
  if (std::fflush(out) != 0) note(out, errno);
}

LostOutput lost_output() { return {.out = lost_out, .error = lost_error}; }

LostOutput finish_output() {
  flush(stdout);
  if (std::ferror(stdout) != 0) note(stdout, errno);
  // Some file systems report only here that what was written did not fit. A descriptor that was never open lost nothing
  // unless something was printed, which has been noted.
  errno = 0;
  if (std::fclose(stdout) != 0 && errno != EBADF) note(stdout, errno);
  if (std::ferror(stderr) != 0) note(stderr, errno);
  return lost_output();
}

void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Opened the wrong way: reading from it, or writing to it, still fails.
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) [[maybe_unused]]
      const int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace fb
