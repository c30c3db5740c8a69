// What the programs of uses of librdmacm have in common: checks that are counted, addresses, events, identifiers.

#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

int checks = 0, failed = 0;

#define CHECK(condition)                                          \
  do {                                                            \
    ++checks;                                                     \
    if (!(condition)) {                                           \
      ++failed;                                                   \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                             \
  } while (false)
// Fails, with this errno.
#define CHECK_ERROR(call, error) CHECK((errno = 0, (call) == -1) && errno == (error))

struct Address {
  sockaddr_in in{};
  explicit Address(const char* host, in_port_t port = 0) {
    in.sin_family = AF_INET;
    in.sin_port = port;  // network order
    inet_pton(AF_INET, host, &in.sin_addr);
  }
  operator sockaddr*() { return reinterpret_cast<sockaddr*>(&in); }
};

// An event, acknowledged when it goes.
struct Taken {
  rdma_cm_event* event = nullptr;
  explicit Taken(rdma_event_channel* channel) { CHECK(rdma_get_cm_event(channel, &event) == 0); }
  Taken(const Taken&) = delete;
  ~Taken() { CHECK(rdma_ack_cm_event(event) == 0); }
  rdma_cm_event* operator->() const { return event; }
  bool is(rdma_cm_event_type type, int status = 0) const { return event->event == type && event->status == status; }
  bool has(const char* text, size_t bytes) const {
    return event->param.conn.private_data_len == bytes &&
           std::strcmp(static_cast<const char*>(event->param.conn.private_data), text) == 0;
  }
};

rdma_cm_id* make(rdma_event_channel* channel, rdma_port_space space = RDMA_PS_TCP, void* context = nullptr) {
  rdma_cm_id* id = nullptr;
  CHECK(rdma_create_id(channel, &id, context, space) == 0);
  return id;
}

rdma_cm_id* listener(rdma_event_channel* channel, rdma_port_space space = RDMA_PS_TCP, void* context = nullptr) {
  rdma_cm_id* const id = make(channel, space, context);
  CHECK(rdma_bind_addr(id, Address("127.0.0.1")) == 0);
  CHECK(rdma_listen(id, 8) == 0);
  return id;
}

// With a route, and not connected.
rdma_cm_id* caller(rdma_event_channel* channel, in_port_t port, rdma_port_space space = RDMA_PS_TCP) {
  rdma_cm_id* const id = make(channel, space);
  CHECK(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", port), 1000) == 0);
  CHECK(Taken(channel).is(RDMA_CM_EVENT_ADDR_RESOLVED));
  CHECK(rdma_resolve_route(id, 1000) == 0);
  CHECK(Taken(channel).is(RDMA_CM_EVENT_ROUTE_RESOLVED));
  return id;
}

int add_pair(rdma_cm_id* id, ibv_qp_type type = IBV_QPT_RC) {
  ibv_qp_init_attr init{};
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = type;
  init.sq_sig_all = 1;
  return rdma_create_qp(id, nullptr, &init);
}

ibv_qp_attr query(rdma_cm_id* id) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  CHECK(ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init) == 0);
  return attr;
}

rdma_conn_param param(const char* data, uint8_t bytes) {
  rdma_conn_param p{};
  p.private_data = data;
  p.private_data_len = bytes;
  p.responder_resources = 3;
  p.initiator_depth = 2;
  p.retry_count = 5;
  p.rnr_retry_count = 6;
  return p;
}

void end(rdma_cm_id* id) { rdma_destroy_ep(id); }

bool is_readable(int fd) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&p, 1, 0) == 1;
}

int report() {
  std::printf("%d checks, %d failed\n", checks, failed);
  return failed != 0;
}

}  // namespace
