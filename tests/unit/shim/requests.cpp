#include "tests/unit/shim/requests.h"

#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>

#include "common/wire/messages.h"

namespace {

std::atomic<size_t> sent = 0;

bool is_note(const msghdr& message) {
  fb::wire::Frame frame;
  if (message.msg_iovlen == 0 || message.msg_iov->iov_len < sizeof frame) return false;
  std::memcpy(&frame, message.msg_iov->iov_base, sizeof frame);
  return frame.kind == fb::wire::Kind::report_unsupported || frame.kind == fb::wire::Kind::library_works;
}

}  // namespace

// The program's own symbol comes before that of the C library for all of its libraries, too.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  using Send = ssize_t (*)(int, const msghdr*, int);
  static const auto next = reinterpret_cast<Send>(::dlsym(RTLD_NEXT, "sendmsg"));
  if (!is_note(*message)) ++sent;
  return next(socket, message, flags);
}

namespace fb {
size_t requests_sent() { return sent; }
}  // namespace fb
