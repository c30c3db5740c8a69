#include "ranks/shim/rdmacm/waits.h"

#include <sys/epoll.h>

#include <cerrno>

#include "common/wire/library_link.h"
#include "ranks/shim/where/where.h"

namespace fb::shim::rdmacm {

void note_wait(wire::VerbsWait wait, uint32_t value) {
  wire::VerbsNote request{.wait = wait, .value = value};
  if (wait != wire::VerbsWait::none) line_of_call(nullptr, "rdma/rdma_verbs.h", request.where);
  wire::Empty reply;
  fabricbench_request(static_cast<uint16_t>(wire::Kind::verbs_note), &request, sizeof request, &reply, sizeof reply,
                      nullptr, 0);
}

int wait_for_event(int descriptor, bool may_wait, uint64_t& token) {
  // To find the line of the call takes long, once in a process: only those that wait for long say where they do.
  constexpr int kLong = 100;  // milliseconds
  epoll_event ready{};
  int count = ::epoll_wait(descriptor, &ready, 1, may_wait ? kLong : 0);
  if (count == 0 && may_wait) {
    note_wait(wire::VerbsWait::connections);
    count = ::epoll_wait(descriptor, &ready, 1, -1);
    const int error = errno;
    note_wait(wire::VerbsWait::none);
    errno = error;
  }
  token = ready.data.u64;
  return count;
}

}  // namespace fb::shim::rdmacm
