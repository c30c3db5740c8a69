// Event channels. A channel's descriptor is an epoll's: what comes at a socket becomes an event when the program asks
// for one, in its own thread. Events of this process itself are counted by a descriptor among those.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "ranks/shim/rdmacm/ids.h"
#include "ranks/shim/rdmacm/waits.h"

namespace fb::shim::rdmacm {
namespace {

struct Watched {
  Source source = Source::connection;
  Id* id = nullptr;
  int descriptor = -1;
};
constexpr uint64_t kLocal = 0;  // not a token

std::unordered_map<uint64_t, Watched>& watched() {
  static auto* const all = new std::unordered_map<uint64_t, Watched>;
  return *all;
}

void add(const Channel& channel, int descriptor, uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  ::epoll_ctl(channel.base.fd, EPOLL_CTL_ADD, descriptor, &event);
}

void count_up(const Channel& channel) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t done = ::write(channel.local, &one, sizeof one);
}
void count_down(const Channel& channel) {
  uint64_t one = 0;
  [[maybe_unused]] const ssize_t done = ::read(channel.local, &one, sizeof one);
}

void handle(uint64_t token) {
  const auto found = watched().find(token);
  if (found == watched().end()) return;  // another thread was faster
  const Watched w = found->second;
  switch (w.source) {
    case Source::listener:
      return on_listener(*w.id, w.descriptor);
    case Source::caller:
      return on_caller(*w.id, token, w.descriptor);
    case Source::connection:
      return on_connection(*w.id, w.descriptor);
    case Source::timer:
      return on_timer(*w.id);
  }
}

void wait_for_acknowledgements(Lock& lock, Id& id, uint32_t given) {
  const auto are_all = [&] { return id.completed >= given; };
  constexpr std::chrono::milliseconds kLong{100};
  if (id.acknowledged.wait_for(lock, kLong, are_all)) return;
  const uint32_t missing = given - id.completed;
  lock.unlock();
  note_wait(wire::VerbsWait::connection_acknowledgements, missing);
  lock.lock();
  id.acknowledged.wait(lock, are_all);
}

}  // namespace

std::mutex& mutex() {
  static auto* const one = new std::mutex;
  return *one;
}

int fail(int error) {
  errno = error;
  return -1;
}

uint64_t watch(Id& id, Source source, int descriptor) {
  static uint64_t next = 1;
  const uint64_t token = next++;
  watched()[token] = {.source = source, .id = &id, .descriptor = descriptor};
  add(of(id.base.channel), descriptor, token);
  return token;
}

void unwatch(uint64_t token, bool closes) {
  const auto found = watched().find(token);
  if (found == watched().end()) return;
  ::epoll_ctl(of(found->second.id->base.channel).base.fd, EPOLL_CTL_DEL, found->second.descriptor, nullptr);
  if (closes) ::close(found->second.descriptor);
  watched().erase(found);
}

void hand_over(uint64_t token, Id& to) {
  Watched& w = watched().at(token);
  if (to.base.channel != w.id->base.channel) {
    ::epoll_ctl(of(w.id->base.channel).base.fd, EPOLL_CTL_DEL, w.descriptor, nullptr);
    add(of(to.base.channel), w.descriptor, token);
  }
  w.id = &to;
  w.source = Source::connection;
  to.socket = w.descriptor;
  to.socket_token = token;
}

void push(Id& id, std::unique_ptr<Event> event) {
  Channel& channel = of(id.base.channel);
  channel.events.push_back(std::move(event));
  count_up(channel);
}

std::unique_ptr<Event> make_event(Id& id, rdma_cm_event_type type, int status) {
  auto event = std::make_unique<Event>();
  event->owner = &id;
  event->base.id = &id.base;
  event->base.event = type;
  event->base.status = status;
  return event;
}

void set_data(Event& event, const Message& from, size_t bytes) {
  event.data = from.data;
  // Both forms of the parameters begin with them.
  event.base.param.conn.private_data = event.data.data();
  event.base.param.conn.private_data_len = static_cast<uint8_t>(bytes);
}

int migrate(Lock& lock, Id& id, rdma_event_channel* channel) {
  const bool synchronous = channel == nullptr;
  if (synchronous) channel = rdma_create_event_channel();
  if (!channel) return -1;
  Channel &old = of(id.base.channel), &next = of(channel);
  for (auto& [token, w] : watched()) {
    if (w.id != &id) continue;
    ::epoll_ctl(old.base.fd, EPOLL_CTL_DEL, w.descriptor, nullptr);
    add(next, w.descriptor, token);
  }
  for (auto at = old.events.begin(); at != old.events.end();) {
    if ((*at)->owner != &id) {
      ++at;
      continue;
    }
    next.events.push_back(std::move(*at));
    count_up(next);
    at = old.events.erase(at);
    count_down(old);
  }
  const bool was_synchronous = std::exchange(id.synchronous, synchronous);
  id.base.channel = channel;
  if (was_synchronous) {
    if (rdma_cm_event* const last = std::exchange(id.base.event, nullptr)) {
      lock.unlock();
      rdma_ack_cm_event(last);
      lock.lock();
    }
    rdma_destroy_event_channel(&old.base);
  }
  wait_for_acknowledgements(lock, id, id.given);
  return 0;
}

int complete(rdma_cm_id* id) {
  if (!of(id).synchronous) return 0;
  if (rdma_cm_event* const last = std::exchange(id->event, nullptr)) rdma_ack_cm_event(last);
  if (rdma_get_cm_event(id->channel, &id->event) != 0) return -1;
  if (id->event->status == 0) return 0;
  if (id->event->event == RDMA_CM_EVENT_REJECTED) return fail(ECONNREFUSED);
  return fail(std::abs(id->event->status));
}

void destroy(Lock& lock, Id& id) {
  std::vector<uint64_t> tokens;
  for (const auto& [token, w] : watched()) {
    if (w.id == &id) tokens.push_back(token);
  }
  // One that is connected is closed as well: its peer is told so.
  for (const uint64_t token : tokens) {
    if (token == id.socket_token) id.socket = -1;
    unwatch(token, true);
  }
  if (id.socket >= 0) ::close(id.socket);
  Channel& channel = of(id.base.channel);
  std::vector<Id*> requests;  // that the program has not seen
  std::erase_if(channel.events, [&](const auto& event) {
    if (event->owner != &id) return false;
    if (event->base.id != &id.base) requests.push_back(&of(event->base.id));
    count_down(channel);
    return true;
  });
  for (Id* const request : requests) destroy(lock, *request);
  if (rdma_cm_event* const last = std::exchange(id.base.event, nullptr)) {
    lock.unlock();
    rdma_ack_cm_event(last);
    lock.lock();
  }
  wait_for_acknowledgements(lock, id, id.given);
  if (id.card) leave_card(*id.card);
  std::free(id.base.route.path_rec);
  if (id.synchronous) rdma_destroy_event_channel(id.base.channel);
  delete &id;
}

}  // namespace fb::shim::rdmacm

using namespace fb::shim::rdmacm;

FB_RDMACM rdma_event_channel* rdma_create_event_channel() {
  if (!has_cards()) {
    errno = ENODEV;
    return nullptr;
  }
  auto channel = std::make_unique<Channel>();
  channel->base.fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (channel->base.fd < 0) return nullptr;
  channel->local = ::eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
  if (channel->local < 0) {
    const int error = errno;
    ::close(channel->base.fd);
    errno = error;
    return nullptr;
  }
  add(*channel, channel->local, kLocal);
  return &channel.release()->base;
}

FB_RDMACM void rdma_destroy_event_channel(rdma_event_channel* channel) {
  ::close(channel->fd);
  ::close(of(channel).local);
  delete &of(channel);
}

FB_RDMACM int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (!event) return fail(EINVAL);
  for (;;) {
    {
      const Lock lock(mutex());
      auto& waiting = of(channel).events;
      if (!waiting.empty()) {
        Event* const first = waiting.front().release();
        waiting.pop_front();
        count_down(of(channel));
        ++first->owner->given;
        *event = &first->base;
        return 0;
      }
    }
    const bool waits = (::fcntl(channel->fd, F_GETFL) & O_NONBLOCK) == 0;
    uint64_t token = kLocal;
    const int count = wait_for_event(channel->fd, waits, token);
    if (count < 0) return -1;
    if (count == 0) return fail(EAGAIN);
    const Lock lock(mutex());
    if (token != kLocal) handle(token);
  }
}

FB_RDMACM int rdma_ack_cm_event(rdma_cm_event* event) {
  if (!event) return fail(EINVAL);
  auto* const acknowledged = reinterpret_cast<Event*>(event);
  const Lock lock(mutex());
  ++acknowledged->owner->completed;
  acknowledged->owner->acknowledged.notify_all();
  delete acknowledged;
  return 0;
}

FB_RDMACM int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  Lock lock(mutex());
  if (of(id).synchronous && !channel) return fail(EINVAL);
  return migrate(lock, of(id), channel);
}
