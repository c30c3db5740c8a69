// Connections: what comes from peers, and what becomes of it.

#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "ranks/shim/rdmacm/connection.h"

namespace fb::shim::rdmacm {

bool tell(const Id& id, const Message& message) {
  return ::send(id.socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof message;
}

Message message_of(const Id& id, Kind kind) {
  Message message;
  message.kind = kind;
  message.queue_pair = id.number;
  message.psn = id.psn;
  message.lid = id.card->port.lid;
  message.mtu = static_cast<uint32_t>(id.card->port.active_mtu);
  std::memcpy(message.gid.data(), id.card->gid.raw, message.gid.size());
  message.responder_resources = id.responder_resources;
  message.initiator_depth = id.initiator_depth;
  message.retry_count = id.retry_count;
  message.rnr_retry_count = id.rnr_retry_count;
  message.ack_timeout = id.ack_timeout;
  message.has_srq = id.base.qp && id.base.qp->srq ? 1 : 0;
  if (is_datagram(id)) message.qkey = RDMA_UDP_QKEY;
  return message;
}

void begin_time_wait(Id& id) {
  // Until the number of a queue pair may be used again. In real time, and less than what is taken for a deadlock.
  constexpr long kTimeWait = 200'000'000;  // nanoseconds
  if (id.timer >= 0) return;
  id.timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (id.timer < 0) return;
  itimerspec when{};
  when.it_value.tv_nsec = kTimeWait;
  ::timerfd_settime(id.timer, 0, &when, nullptr);
  id.timer_token = watch(id, Source::timer, id.timer);
}

void on_rejected(Id& id, const Message& message) {
  id.state = State::over;
  if (is_datagram(id)) {
    auto event = make_event(id, RDMA_CM_EVENT_UNREACHABLE, static_cast<int>(message.reason));
    set_data(*event, message, kDatagramReplyData);
    return push(id, std::move(event));
  }
  stop_queue_pair(id);
  auto event = make_event(id, RDMA_CM_EVENT_REJECTED, static_cast<int>(message.reason));
  set_data(*event, message, kRejectData);
  push(id, std::move(event));
}

namespace {

void set_parameters(Event& event, const Message& from) {
  rdma_conn_param& to = event.base.param.conn;
  to.responder_resources = from.initiator_depth;
  to.initiator_depth = from.responder_resources;
  to.flow_control = from.flow_control;
  to.retry_count = from.retry_count;
  to.rnr_retry_count = from.rnr_retry_count;
  to.srq = from.has_srq;
  to.qp_num = from.queue_pair;
}

void hang_up(Id& id) {
  unwatch(id.socket_token, true);
  id.socket = -1;
}

void on_disconnected(Id& id) {
  push(id, make_event(id, RDMA_CM_EVENT_DISCONNECTED));
  if (id.state == State::leaving) {
    id.state = State::over;
    begin_time_wait(id);
  } else {
    id.state = State::left_by_peer;
  }
}

// The peer has gone without a word: its process has ended, or it has destroyed the identifier.
void on_gone(Id& id) {
  hang_up(id);
  switch (id.state) {
    case State::asked:
    case State::answered:
    case State::wanted:
    case State::accepted: {
      if (is_datagram(id) && id.state != State::asked) return;
      Message message;
      message.reason = is_datagram(id) ? kLookupRefused : id.state == State::wanted ? kTimedOut : kRefused;
      return on_rejected(id, message);
    }
    case State::connected:
    case State::leaving:
      if (!is_datagram(id)) on_disconnected(id);
      return;
    default:
      return;
  }
}

void on_lookup_reply(Id& id, const Message& message) {
  auto event = make_event(id, RDMA_CM_EVENT_ESTABLISHED);
  set_data(*event, message, kDatagramReplyData);
  rdma_ud_param& found = event->base.param.ud;
  found.ah_attr.dlid = static_cast<uint16_t>(message.lid);
  found.ah_attr.port_num = id.base.port_num;
  found.qp_num = message.queue_pair;
  found.qkey = message.qkey;
  id.state = State::connected;
  push(id, std::move(event));
}

void on_reply(Id& id, const Message& message) {
  if (id.state != State::asked) return;
  id.peer = message;
  fill_route(id);
  if (is_datagram(id)) return on_lookup_reply(id, message);
  id.responder_resources = message.initiator_depth;
  id.initiator_depth = message.responder_resources;
  id.rnr_retry_count = message.rnr_retry_count;
  id.remote_ece = {.vendor_id = message.ece_vendor, .options = message.ece_options, .comp_mask = 0};
  auto event = make_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE);
  set_data(*event, message, kReplyData);
  set_parameters(*event, message);
  id.state = State::answered;
  if (id.base.qp) {
    if (connect_queue_pair(id) == 0) {
      id.state = State::connected;
      tell(id, message_of(id, Kind::ready));
      event->base.event = RDMA_CM_EVENT_ESTABLISHED;
    } else {
      event->base.event = RDMA_CM_EVENT_CONNECT_ERROR;
      event->base.status = -1;
      stop_queue_pair(id);
      id.state = State::over;
      hang_up(id);
    }
  }
  push(id, std::move(event));
}

void on_message(Id& id, const Message& message) {
  switch (message.kind) {
    case Kind::request:
      return;  // of callers only
    case Kind::reply:
      return on_reply(id, message);
    case Kind::ready:
      if (id.state != State::accepted) return;
      id.state = State::connected;
      return push(id, make_event(id, RDMA_CM_EVENT_ESTABLISHED));
    case Kind::reject:
      return on_rejected(id, message);
    case Kind::disconnect:
      if (id.state == State::connected || id.state == State::leaving) on_disconnected(id);
      return;
    case Kind::disconnected:
      if (id.state == State::leaving) on_disconnected(id);
      return;
  }
}

enum class Got { message, nothing, end };
Got receive(int descriptor, Message& message) {
  for (;;) {
    const ssize_t got = ::recv(descriptor, &message, sizeof message, MSG_DONTWAIT);
    if (got == sizeof message) return Got::message;
    // The peer has closed its end with something unread: what it has sent is still there.
    if (got < 0 && (errno == ECONNRESET || errno == EINTR)) continue;
    return got < 0 && errno == EAGAIN ? Got::nothing : Got::end;
  }
}

// The identifier of a request, bound to the listener's address or to that which the peer has called.
Id* identifier_for(Id& listener, const Message& request) {
  Id* const id = make_id(listener.synchronous ? nullptr : listener.base.channel, listener.base.context,
                         listener.base.ps, listener.base.qp_type);
  if (!id || bind_card(*id) != 0) return id;
  id->state = State::wanted;
  id->peer = request;
  id->base.route.addr.src_storage = request.to;
  id->base.route.addr.dst_storage = request.from;
  id->responder_resources = request.initiator_depth;
  id->initiator_depth = request.responder_resources;
  id->retry_count = request.retry_count;
  id->rnr_retry_count = request.rnr_retry_count;
  id->ack_timeout = request.ack_timeout;
  id->remote_ece = {.vendor_id = request.ece_vendor, .options = request.ece_options, .comp_mask = 0};
  fill_route(*id);
  return id;
}

}  // namespace

void on_listener(Id& id, int descriptor) {
  const int caller = ::accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (caller >= 0) watch(id, Source::caller, caller);
}

void on_caller(Id& id, uint64_t token, int descriptor) {
  Message message;
  const Got got = receive(descriptor, message);
  if (got == Got::nothing) return;
  if (got == Got::end || message.kind != Kind::request) return unwatch(token, true);
  Id* const child = identifier_for(id, message);
  if (!child) return unwatch(token, true);
  hand_over(token, *child);
  auto event = make_event(id, RDMA_CM_EVENT_CONNECT_REQUEST);
  event->base.id = &child->base;
  event->base.listen_id = &id.base;
  set_data(*event, message, is_datagram(id) ? kDatagramRequestData : kRequestData);
  if (!is_datagram(id)) set_parameters(*event, message);
  push(id, std::move(event));
}

void on_connection(Id& id, int descriptor) {
  Message message;
  const Got got = receive(descriptor, message);
  if (got == Got::message) on_message(id, message);
  if (got == Got::end) on_gone(id);
}

void on_timer(Id& id) {
  unwatch(id.timer_token, true);
  id.timer = -1;
  push(id, make_event(id, RDMA_CM_EVENT_TIMEWAIT_EXIT));
}

}  // namespace fb::shim::rdmacm
