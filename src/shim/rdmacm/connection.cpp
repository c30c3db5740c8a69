// Connections: requests, answers, and how they end. States and what is refused are those of Linux's rdma_cm.

#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "shim/rdmacm/address.h"
#include "shim/rdmacm/ids.h"

namespace fb::shim::rdmacm {
namespace {

// Until a queue pair's number may be used again. No virtual time: programs wait for it in real time, or do not.
constexpr long kTimeWait = 200'000'000;  // nanoseconds

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

// False: it does not fit.
bool put_data(const Id& id, Message& message, const void* data, size_t bytes, size_t room) {
  if (!data) bytes = 0;
  if (id.data_first.size() + bytes > room) return false;
  std::copy(id.data_first.begin(), id.data_first.end(), message.data.begin());
  if (bytes != 0) std::memcpy(message.data.data() + id.data_first.size(), data, bytes);
  return true;
}

void take_queue_pair(Id& id, const rdma_conn_param* param) {
  id.number = id.base.qp ? id.base.qp->qp_num : param ? param->qp_num : 0;
}

// Resources that the program asks for, or the card has.
bool are_valid(const Id& id, const rdma_conn_param* param) {
  if (id.base.ps != RDMA_PS_TCP) return true;
  if (!param) return id.base.qp != nullptr;
  return (param->responder_resources == RDMA_MAX_RESP_RES || param->responder_resources <= id.card->reads) &&
         (param->initiator_depth == RDMA_MAX_INIT_DEPTH || param->initiator_depth <= id.card->reads);
}

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

void begin_time_wait(Id& id) {
  if (id.timer >= 0) return;
  id.timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (id.timer < 0) return;
  itimerspec when{};
  when.it_value.tv_nsec = kTimeWait;
  ::timerfd_settime(id.timer, 0, &when, nullptr);
  id.timer_token = watch(id, Source::timer, id.timer);
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

using namespace fb::shim::rdmacm;

namespace {

// 4.096 us · 2^19: twice the life of a packet.
constexpr uint8_t kAckTimeout = 19;

int connect(Id& id, const rdma_conn_param* param) {
  if (id.state != State::route_known || !are_valid(id, param)) return fail(EINVAL);
  constexpr uint8_t kRetries = 7;
  id.initiator_depth = param && param->initiator_depth != RDMA_MAX_INIT_DEPTH ? param->initiator_depth : id.card->reads;
  id.responder_resources =
      param && param->responder_resources != RDMA_MAX_RESP_RES ? param->responder_resources : id.card->reads;
  id.retry_count = param ? param->retry_count & 7 : kRetries;
  id.rnr_retry_count = param ? param->rnr_retry_count & 7 : kRetries;
  id.ack_timeout = id.chosen_timeout.value_or(kAckTimeout);
  take_queue_pair(id, param);
  Message request = message_of(id, Kind::request);
  request.flow_control = param ? param->flow_control : 0;
  if (!id.base.qp && param) request.has_srq = param->srq;
  request.from = id.base.route.addr.src_storage;
  request.to = id.base.route.addr.dst_storage;
  request.ece_vendor = id.local_ece.vendor_id;
  request.ece_options = id.local_ece.options;
  if (!put_data(id, request, param ? param->private_data : nullptr, param ? param->private_data_len : 0,
                is_datagram(id) ? kDatagramRequestData : kRequestData))
    return fail(EINVAL);
  if (id.socket < 0) {  // an address that others may use as well
    id.socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (id.socket < 0) return -1;
  }
  id.state = State::asked;
  id.data_first.clear();
  if (!call_port(id.socket, id.base.ps, &id.base.route.addr.dst_addr)) {
    Message nobody;
    nobody.reason = is_datagram(id) ? kLookupUnsupported : errno == EAGAIN ? kRefused : kNoSuchService;
    on_rejected(id, nobody);
    return 0;
  }
  id.socket_token = watch(id, Source::connection, id.socket);
  tell(id, request);
  return 0;
}

int accept(Id& id, const rdma_conn_param* param) {
  if (id.state != State::wanted || (!id.base.qp && !param) || !are_valid(id, param)) return fail(EINVAL);
  if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
    id.initiator_depth = param->initiator_depth;
  else
    id.initiator_depth = std::min(id.initiator_depth, id.card->reads);
  if (param && param->responder_resources != RDMA_MAX_RESP_RES)
    id.responder_resources = param->responder_resources;
  else
    id.responder_resources = std::min(id.responder_resources, id.card->reads);
  take_queue_pair(id, param);
  Message reply = message_of(id, Kind::reply);
  reply.flow_control = param ? param->flow_control : 0;
  reply.rnr_retry_count = param ? param->rnr_retry_count & 7 : 7;
  if (!id.base.qp) reply.has_srq = param->srq;
  reply.ece_vendor = id.remote_ece.vendor_id;
  reply.ece_options = id.local_ece.options;
  if (!put_data(id, reply, param ? param->private_data : nullptr, param ? param->private_data_len : 0,
                is_datagram(id) ? kDatagramReplyData : kReplyData))
    return fail(EINVAL);
  if (!is_datagram(id) && connect_queue_pair(id) != 0) return -1;
  id.state = State::accepted;
  tell(id, reply);  // whether the peer is still there, its socket says
  return 0;
}

int reject(Id& id, const void* data, uint8_t bytes, uint32_t reason) {
  if (id.state != State::wanted) return fail(EINVAL);
  Message message;
  message.kind = Kind::reject;
  message.reason = is_datagram(id) ? kLookupRefused : reason;
  if (!put_data(id, message, data, bytes, is_datagram(id) ? kDatagramReplyData : kRejectData)) return fail(EINVAL);
  id.state = State::over;
  tell(id, message);
  return 0;
}

int disconnect(Id& id) {
  if (!id.base.verbs) return fail(EINVAL);
  if (stop_queue_pair(id) != 0) return -1;
  Message message;
  switch (id.state) {
    case State::idle:
    case State::bound:
    case State::address_known:
    case State::route_known:
    case State::listening:
      return fail(EINVAL);
    case State::connected:
      if (is_datagram(id)) return 0;
      message.kind = Kind::disconnect;
      id.state = State::leaving;
      tell(id, message);
      return 0;
    case State::left_by_peer:
      message.kind = Kind::disconnected;
      id.state = State::over;
      if (id.socket >= 0) tell(id, message);
      begin_time_wait(id);
      return 0;
    default:
      return 0;
  }
}

}  // namespace

FB_RDMACM int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  {
    const Lock lock(mutex());
    if (connect(of(id), param) != 0) return -1;
  }
  return complete(id);
}

FB_RDMACM int rdma_establish(rdma_cm_id* id) {
  const Lock lock(mutex());
  if (id->qp || of(id).state != State::answered) return fail(EINVAL);
  of(id).state = State::connected;
  tell(of(id), message_of(of(id), Kind::ready));
  return 0;
}

FB_RDMACM int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
  if (!of(listener).synchronous) return fail(EINVAL);
  if (rdma_cm_event* const last = std::exchange(listener->event, nullptr)) rdma_ack_cm_event(last);
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(listener->channel, &event) != 0) return -1;
  const auto keep = [&](int error) {
    listener->event = event;
    return fail(error);
  };
  if (event->status != 0) return keep(std::abs(event->status));
  if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return keep(EINVAL);
  if (of(listener).init) {
    ibv_qp_init_attr init = *of(listener).init;
    if (rdma_create_qp(event->id, listener->pd, &init) != 0) return keep(errno);
  }
  *id = event->id;
  (*id)->event = event;
  return 0;
}

FB_RDMACM int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  {
    const Lock lock(mutex());
    if (accept(of(id), param) != 0) return -1;
  }
  if (!is_datagram(of(id))) return complete(id);
  // Nobody answers a lookup's answer.
  if (of(id).synchronous) {
    if (rdma_cm_event* const last = std::exchange(id->event, nullptr)) rdma_ack_cm_event(last);
  }
  return 0;
}

FB_RDMACM int rdma_reject(rdma_cm_id* id, const void* data, uint8_t bytes) {
  const Lock lock(mutex());
  return reject(of(id), data, bytes, kRefused);
}

FB_RDMACM int rdma_reject_ece(rdma_cm_id* id, const void* data, uint8_t bytes) {
  const Lock lock(mutex());
  return reject(of(id), data, bytes, kOptionsRefused);
}

FB_RDMACM int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  const Lock lock(mutex());
  if (event != IBV_EVENT_COMM_EST) return fail(EINVAL);
  if (of(id).state == State::connected) return fail(EISCONN);
  if (of(id).state != State::accepted) return fail(EINVAL);
  of(id).state = State::connected;
  push(of(id), make_event(of(id), RDMA_CM_EVENT_ESTABLISHED));
  return 0;
}

FB_RDMACM int rdma_disconnect(rdma_cm_id* id) {
  {
    const Lock lock(mutex());
    if (disconnect(of(id)) != 0) return -1;
  }
  return complete(id);
}
