#include "launcher/line_forwarder.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/output.h"

namespace fb::launcher {

// A line longer than this is passed on in pieces.
constexpr size_t kLongestLine = 1u << 20;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote >= 0) {
      text.remove_prefix(static_cast<size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      poll(&room, 1, 1000);
    } else if (errno != EINTR) {
      note_lost_output(fd, errno);
      return;
    }
  }
}

void LineForwarder::take(std::string_view text) {
  if (!hold_ && prefix_.empty() && !tagged_) return put(text);
  pending_ += text;
  std::string ready;
  size_t begin = 0;
  for (size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n', begin)) {
    ready += line(std::string_view(pending_).substr(begin, end + 1 - begin));
    begin = end + 1;
  }
  pending_.erase(0, begin);
  put(ready);
  if (pending_.size() > kLongestLine) finish();
}

void LineForwarder::finish() {
  if (!pending_.empty()) put(line(pending_ + "\n"));
  pending_.clear();
}

std::string LineForwarder::line(std::string_view text) const {
  if (!tagged_ || !text.starts_with("[1,")) return prefix_ + std::string(text);
  const size_t close = text.find(']'), end = text.find(">:");
  if (close == std::string_view::npos || end == std::string_view::npos) return std::string(text);
  return "[rank " + std::string(text.substr(3, close - 3)) + "] " + std::string(text.substr(end + 2));
}

void LineForwarder::put(std::string_view text) const { write_all(to_, text); }

}  // namespace fb::launcher
