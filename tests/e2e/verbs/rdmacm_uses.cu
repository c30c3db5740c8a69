// Uses and misuses of librdmacm in one process: addresses and ports, datagrams, calls that wait, options. Prints every
// check that fails, and how many there were.

#include <fcntl.h>
#include <netdb.h>
#include <rdma/rsocket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "rdmacm_uses.h"

namespace {

void test_channels_and_addresses() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_event* event = nullptr;
  CHECK_ERROR(rdma_get_cm_event(channel, nullptr), EINVAL);
  CHECK_ERROR(rdma_ack_cm_event(nullptr), EINVAL);
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  CHECK(!is_readable(channel->fd));
  CHECK_ERROR(rdma_get_cm_event(channel, &event), EAGAIN);
  rdma_cm_id* bad = nullptr;
  CHECK_ERROR(rdma_create_id(channel, &bad, nullptr, static_cast<rdma_port_space>(7)), EINVAL);

  rdma_cm_id* const a = make(channel);
  Address unix_family("127.0.0.1");
  unix_family.in.sin_family = AF_UNIX;
  CHECK_ERROR(rdma_bind_addr(a, unix_family), EINVAL);
  CHECK_ERROR(rdma_bind_addr(a, Address("192.0.2.1")), EADDRNOTAVAIL);
  CHECK(!a->verbs && rdma_get_src_port(a) == 0);
  CHECK(rdma_bind_addr(a, Address("0.0.0.0")) == 0 && !a->verbs);
  CHECK(rdma_get_src_port(a) != 0);
  CHECK_ERROR(rdma_bind_addr(a, Address("0.0.0.0")), EINVAL);
  const in_port_t port = rdma_get_src_port(a);
  // A port is taken for one address, and for all of them; every port space has its own, and TCP another.
  rdma_cm_id* const b = make(channel);
  CHECK_ERROR(rdma_bind_addr(b, Address("127.0.0.1", port)), EADDRINUSE);
  rdma_cm_id* const other_space = make(channel, RDMA_PS_UDP);
  CHECK(rdma_bind_addr(other_space, Address("127.0.0.1", port)) == 0);
  CHECK(other_space->verbs && other_space->pd && other_space->port_num == 1);
  const int tcp = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(bind(tcp, Address("127.0.0.1", port), sizeof(sockaddr_in)) == 0);
  close(tcp);
  // What listens without an address gets one; no identifier listens twice.
  CHECK(rdma_listen(a, 0) == 0);
  CHECK_ERROR(rdma_listen(a, 0), EINVAL);
  CHECK(rdma_listen(b, 0) == 0 && rdma_get_src_port(b) != 0);
  end(other_space);
  end(b);
  end(a);
  // It is free again.
  rdma_cm_id* const c = make(channel);
  CHECK(rdma_bind_addr(c, Address("127.0.0.1", port)) == 0);
  end(c);

  rdma_cm_id* const id = make(channel);
  CHECK_ERROR(rdma_resolve_route(id, 1000), EINVAL);
  CHECK_ERROR(rdma_disconnect(id), EINVAL);
  CHECK_ERROR(rdma_resolve_addr(id, nullptr, unix_family, 1000), EINVAL);
  // No card is behind it. The identifier can try again.
  CHECK(rdma_resolve_addr(id, nullptr, Address("192.0.2.1", htons(1)), 1000) == 0);
  CHECK(is_readable(channel->fd));
  CHECK(Taken(channel).is(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV));
  CHECK(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", htons(1)), 1000) == 0);
  {
    Taken resolved(channel);
    CHECK(resolved.is(RDMA_CM_EVENT_ADDR_RESOLVED) && resolved->id == id);
  }
  CHECK(id->verbs && rdma_get_dst_port(id) == htons(1));
  CHECK(reinterpret_cast<sockaddr_in*>(rdma_get_local_addr(id))->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  CHECK_ERROR(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", htons(1)), 1000), EINVAL);
  CHECK_ERROR(rdma_resolve_route(id, 0), EINVAL);
  CHECK_ERROR(rdma_connect(id, nullptr), EINVAL);
  CHECK(rdma_resolve_route(id, 1000) == 0);
  CHECK(Taken(channel).is(RDMA_CM_EVENT_ROUTE_RESOLVED));
  CHECK(id->route.num_paths == 1 && be16toh(id->route.path_rec->pkey) == 0xffff);
  // Without a queue pair, parameters say which one is meant.
  CHECK_ERROR(rdma_connect(id, nullptr), EINVAL);
  CHECK(add_pair(id) == 0 && query(id).qp_state == IBV_QPS_INIT);
  CHECK_ERROR(add_pair(id), EINVAL);
  CHECK(id->send_cq && id->recv_cq && id->send_cq_channel);
  char data[57] = {};
  rdma_conn_param p = param(data, 57);
  CHECK_ERROR(rdma_connect(id, &p), EINVAL);
  p = param(data, 56);
  p.initiator_depth = 200;
  CHECK_ERROR(rdma_connect(id, &p), EINVAL);
  // Nothing listens there.
  CHECK(rdma_connect(id, nullptr) == 0);
  CHECK(Taken(channel).is(RDMA_CM_EVENT_REJECTED, 8));
  CHECK(query(id).qp_state == IBV_QPS_ERR);
  end(id);
  rdma_destroy_event_channel(channel);
}

void test_datagrams() {
  rdma_event_channel *const here = rdma_create_event_channel(), *const there = rdma_create_event_channel();
  rdma_cm_id* const listening = listener(there, RDMA_PS_UDP);
  const in_port_t port = rdma_get_src_port(listening);
  rdma_cm_id* const id = caller(here, port, RDMA_PS_UDP);
  CHECK(add_pair(id, IBV_QPT_UD) == 0 && query(id).qp_state == IBV_QPS_RTS && query(id).qkey == RDMA_UDP_QKEY);
  rdma_conn_param p{};
  p.private_data = "ask";
  p.private_data_len = 4;
  CHECK(rdma_connect(id, &p) == 0);
  rdma_cm_id* peer = nullptr;
  {
    Taken request(there);
    CHECK(request.is(RDMA_CM_EVENT_CONNECT_REQUEST) && request.has("ask", 180));
    peer = request->id;
  }
  CHECK(add_pair(peer, IBV_QPT_UD) == 0);
  p.private_data = "me";
  CHECK(rdma_accept(peer, &p) == 0);
  {
    Taken found(here);
    CHECK(found.is(RDMA_CM_EVENT_ESTABLISHED) && found.has("me", 136));
    CHECK(found->param.ud.qp_num == peer->qp->qp_num && found->param.ud.qkey == RDMA_UDP_QKEY);
    ibv_ah* const ah = ibv_create_ah(id->pd, &found->param.ud.ah_attr);
    CHECK(ah && found->param.ud.ah_attr.dlid != 0);
    if (ah) ibv_destroy_ah(ah);
  }
  CHECK(rdma_disconnect(id) == 0 && rdma_disconnect(peer) == 0);
  end(peer);
  end(id);
  rdma_cm_id* const refused = caller(here, port, RDMA_PS_UDP);
  CHECK(rdma_connect(refused, &p) == 0);
  {
    Taken request(there);
    CHECK(rdma_reject(request->id, nullptr, 0) == 0);
    end(request->id);
  }
  CHECK(Taken(here).is(RDMA_CM_EVENT_UNREACHABLE, 2));
  end(refused);
  end(listening);
  rdma_cm_id* const lost = caller(here, port, RDMA_PS_UDP);
  CHECK(rdma_connect(lost, &p) == 0);
  CHECK(Taken(here).is(RDMA_CM_EVENT_UNREACHABLE, 1));
  end(lost);
  rdma_destroy_event_channel(there);
  rdma_destroy_event_channel(here);
}

// Calls that wait for their event themselves.
void test_synchronous() {
  rdma_addrinfo hints{}, *info = nullptr;
  CHECK_ERROR(rdma_getaddrinfo(nullptr, nullptr, nullptr, &info), EINVAL);
  hints.ai_flags = RAI_NUMERICHOST;
  CHECK(rdma_getaddrinfo("no.number", "1", &hints, &info) == EAI_NONAME);
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_TCP;
  CHECK(rdma_getaddrinfo(nullptr, "0", &hints, &info) == 0);
  CHECK((info->ai_flags & RAI_PASSIVE) != 0 && info->ai_qp_type == IBV_QPT_RC && info->ai_src_len != 0);
  ibv_qp_init_attr init{};
  init.cap = {2, 2, 1, 1, 0};
  rdma_cm_id *listening = nullptr, *peer = nullptr, *id = nullptr;
  CHECK(rdma_create_ep(&listening, info, nullptr, &init) == 0 && rdma_listen(listening, 1) == 0);
  rdma_freeaddrinfo(info);
  CHECK_ERROR(rdma_migrate_id(listening, nullptr), EINVAL);
  const std::string port = std::to_string(ntohs(rdma_get_src_port(listening)));
  std::thread server([&] {
    if (rdma_get_request(listening, &peer) == 0 && rdma_accept(peer, nullptr) == 0) rdma_disconnect(peer);
  });
  hints.ai_flags = 0;
  CHECK(rdma_getaddrinfo("127.0.0.1", port.c_str(), &hints, &info) == 0 && info->ai_dst_len != 0);
  CHECK(rdma_create_ep(&id, info, nullptr, &init) == 0 && id->qp);
  CHECK(rdma_connect(id, nullptr) == 0 && id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED);
  CHECK(rdma_disconnect(id) == 0 && id->event->event == RDMA_CM_EVENT_DISCONNECTED);
  server.join();
  CHECK(peer && peer->qp && peer->channel != listening->channel);
  end(peer);
  end(id);
  end(listening);
  // Nothing listens any more. What was asked for has become what was made: its queues are gone.
  init = {};
  init.cap = {2, 2, 1, 1, 0};
  CHECK(rdma_create_ep(&id, info, nullptr, &init) == 0);
  CHECK_ERROR(rdma_connect(id, nullptr), ECONNREFUSED);
  end(id);
  rdma_freeaddrinfo(info);
}

void test_others() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id *const id = make(channel), *other = nullptr;
  int number = 1;
  uint8_t small = 1;
  CHECK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &small, 1) == 0);
  CHECK_ERROR(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &number, sizeof number), EINVAL);
  CHECK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &number, sizeof number) == 0);
  CHECK_ERROR(rdma_set_option(id, RDMA_OPTION_ID, 99, &number, sizeof number), ENOSYS);
  CHECK_ERROR(rdma_set_option(id, 99, 0, &number, sizeof number), ENOSYS);
  CHECK_ERROR(rdma_get_request(id, &other), EINVAL);
  CHECK_ERROR(add_pair(id), EINVAL);  // no card yet
  CHECK(rdma_bind_addr(id, Address("127.0.0.1")) == 0);
  int count = 0;
  ibv_context** const devices = rdma_get_devices(&count);
  CHECK(devices && count == 8 && devices[0] == id->verbs && !devices[8]);
  ibv_pd* const elsewhere = ibv_alloc_pd(devices[1]);
  ibv_qp_init_attr init{};
  init.cap = {2, 2, 1, 1, 0};
  CHECK_ERROR(rdma_create_qp(id, elsewhere, &init), EINVAL);
  ibv_dealloc_pd(elsewhere);
  rdma_free_devices(devices);
  ibv_srq_init_attr shared{};
  shared.attr = {4, 1, 0};
  CHECK(rdma_create_srq(id, nullptr, &shared) == 0 && id->srq);
  CHECK(add_pair(id) == 0 && id->qp->srq == id->srq);
  end(id);
  CHECK_ERROR(rdma_join_multicast(id, Address("224.0.0.1"), nullptr), EOPNOTSUPP);
  CHECK_ERROR(rsocket(AF_INET, SOCK_STREAM, 0), EOPNOTSUPP);
  CHECK(std::strcmp(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT), "RDMA_CM_EVENT_TIMEWAIT_EXIT") == 0);
  rdma_destroy_event_channel(channel);
}

}  // namespace

int main() {
  test_channels_and_addresses();
  test_datagrams();
  test_synchronous();
  test_others();
  return report();
}
