// Connections: what programs ask for. States, and what is refused, are those of Linux's rdma_cm.

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "ranks/shim/rdmacm/address.h"
#include "ranks/shim/rdmacm/connection.h"

using namespace fb::shim::rdmacm;

namespace {

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
  // A lookup's answer is not answered.
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
