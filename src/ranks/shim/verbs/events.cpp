// Completion channels and asynchronous events: descriptors that the machine writes to, and what is acknowledged.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <unordered_map>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/notes.h"
#include "ranks/shim/verbs/objects.h"

namespace fb::shim::verbs {
namespace {

struct Cookies {
  std::mutex mutex;
  std::unordered_map<uint64_t, void*> objects;
  uint64_t next = 1;
};
Cookies& cookies() {
  static auto* const made = new Cookies;
  return *made;
}

// A read of it will wait. The machine is told then: it alone can end the wait.
bool will_wait(int descriptor) {
  if ((::fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0) return false;
  pollfd readable{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&readable, 1, 0) == 0;
}

// To find the line of the call takes long, once in a process: only those that wait for long say where they do. False: a
// signal has come.
bool wait_with_note(int descriptor, const wire::VerbsNote& wait) {
  constexpr int kLong = 100;  // milliseconds
  note_wait(wait.wait, wait.id, wire::kLineFollows, false);
  pollfd readable{.fd = descriptor, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&readable, 1, kLong);
  if (ready == 0) note_wait(wait.wait, wait.id, 0, true);
  if (ready >= 0) return true;
  note_wait(wire::VerbsWait::none, 0, 0, false);
  errno = EINTR;
  return false;
}

// One of an object that is still there, and counted there: its destruction waits for the acknowledgement. False: errno
// says why there is none.
bool read_event(int descriptor, wire::VerbsEvent& event, const wire::VerbsNote& wait,
                const std::function<void(void*)>& count) {
  forget_polls();
  for (;;) {
    const bool waits = will_wait(descriptor);
    if (waits && !wait_with_note(descriptor, wait)) return false;
    const ssize_t got = ::read(descriptor, &event, sizeof event);
    if (got != sizeof event) {
      const int error = got >= 0 ? EIO : errno;  // the machine has gone; or a signal has come
      if (waits && error != EIO) note_wait(wire::VerbsWait::none, 0, 0, false);
      errno = error;
      return false;
    }
    if (with_object(event.cookie, count)) return true;
  }
}

}  // namespace

uint64_t add_cookie(void* object) {
  Cookies& all = cookies();
  const std::lock_guard lock(all.mutex);
  all.objects[all.next] = object;
  return all.next++;
}
void remove_cookie(uint64_t cookie) {
  Cookies& all = cookies();
  const std::lock_guard lock(all.mutex);
  all.objects.erase(cookie);
}
bool with_object(uint64_t cookie, const std::function<void(void*)>& act) {
  Cookies& all = cookies();
  const std::lock_guard lock(all.mutex);
  const auto found = all.objects.find(cookie);
  if (found == all.objects.end()) return false;
  act(found->second);
  return true;
}

}  // namespace fb::shim::verbs

using namespace fb::shim::verbs;
namespace wire = fb::wire;

FB_VERBS ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  wire::VerbsMade made;
  int events = -1;
  if (const int error = make_object({.kind = wire::VerbsObject::channel, .parent = of(context).id}, made, &events);
      error != 0)
    return nothing(error);
  auto* const channel = new Channel;
  channel->id = made.id;
  channel->base = {.context = context, .fd = events, .refcnt = 0};
  return &channel->base;
}

FB_VERBS int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (channel->refcnt != 0) return EBUSY;
  const int error = end_object(wire::VerbsObject::channel, of(channel).id);
  if (error != 0) return error;
  ::close(channel->fd);
  delete &of(channel);
  return 0;
}

FB_VERBS int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  wire::VerbsEvent event;
  CompletionQueue* queue = nullptr;
  const auto count = [&](void* object) {
    queue = static_cast<CompletionQueue*>(object);
    pthread_mutex_lock(&queue->base.mutex);
    ++queue->told.completion_events;
    pthread_mutex_unlock(&queue->base.mutex);
  };
  if (!read_event(channel->fd, event, {.wait = wire::VerbsWait::channel, .id = of(channel).id}, count)) return -1;
  *cq = ibv_cq_ex_to_cq(&queue->base);
  *cq_context = queue->base.cq_context;
  return 0;
}

FB_VERBS void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

FB_VERBS int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const auto count = [](auto& of_event, Told& told) {
    pthread_mutex_lock(&of_event.mutex);
    ++told.async_events;
    pthread_mutex_unlock(&of_event.mutex);
  };
  wire::VerbsEvent got;
  const auto take = [&](void* object) {
    event->event_type = static_cast<ibv_event_type>(got.type);
    switch (event->event_type) {
      case IBV_EVENT_CQ_ERR: {
        auto* const queue = static_cast<CompletionQueue*>(object);
        count(queue->base, queue->told);
        event->element.cq = ibv_cq_ex_to_cq(&queue->base);
        break;
      }
      case IBV_EVENT_SRQ_ERR:
      case IBV_EVENT_SRQ_LIMIT_REACHED: {
        auto* const queue = static_cast<SharedReceiveQueue*>(object);
        count(queue->base, queue->told);
        event->element.srq = &queue->base;
        break;
      }
      default: {
        auto* const pair = static_cast<QueuePair*>(object);
        count(pair->base.qp_base, pair->told);
        event->element.qp = &pair->base.qp_base;
        break;
      }
    }
  };
  return read_event(context->async_fd, got, {.wait = wire::VerbsWait::events, .id = of(context).id}, take) ? 0 : -1;
}

FB_VERBS void ibv_ack_async_event(ibv_async_event* event) {
  const auto acknowledge = [](auto& object, uint32_t& completed) {
    pthread_mutex_lock(&object.mutex);
    ++completed;
    pthread_cond_signal(&object.cond);
    pthread_mutex_unlock(&object.mutex);
  };
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      return acknowledge(*event->element.cq, event->element.cq->async_events_completed);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return acknowledge(*event->element.srq, event->element.srq->events_completed);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return acknowledge(*event->element.qp, event->element.qp->events_completed);
    default:
      return;
  }
}
