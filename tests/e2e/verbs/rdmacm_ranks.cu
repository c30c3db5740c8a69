// Programs of several ranks that connect by librdmacm: rdmacm_ranks NAME PORT. Some hang or race, as run_rdmacm.py
// knows; those that end say that they are over.

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace {

#define MUST(condition)                                                          \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::printf("rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (false)

const int rank = std::atoi(std::getenv("RANK")), ranks = std::atoi(std::getenv("WORLD_SIZE"));
uint16_t first_port = 0;

sockaddr_in address_of(int number) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(first_port + number));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

ibv_qp_init_attr sizes() {
  ibv_qp_init_attr init{};
  init.cap = {8, 8, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  return init;
}

rdma_cm_event_type take(rdma_event_channel* channel, rdma_cm_id** id = nullptr) {
  rdma_cm_event* event = nullptr;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  const rdma_cm_event_type type = event->event;
  if (id) *id = event->id;
  rdma_ack_cm_event(event);
  return type;
}

rdma_cm_id* listen_at(rdma_event_channel* channel, int number) {
  rdma_cm_id* id = nullptr;
  sockaddr_in address = address_of(number);
  MUST(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
  MUST(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) == 0);
  MUST(rdma_listen(id, 64) == 0);
  return id;
}

rdma_cm_id* prepare(rdma_event_channel* channel, int number) {
  rdma_cm_id* id = nullptr;
  sockaddr_in address = address_of(number);
  MUST(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
  MUST(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&address), 1000) == 0);
  MUST(take(channel) == RDMA_CM_EVENT_ADDR_RESOLVED);
  MUST(rdma_resolve_route(id, 1000) == 0);
  MUST(take(channel) == RDMA_CM_EVENT_ROUTE_RESOLVED);
  ibv_qp_init_attr init = sizes();
  MUST(rdma_create_qp(id, nullptr, &init) == 0);
  return id;
}

// Until the other rank listens. The event of the answer has been taken.
rdma_cm_id* connect_to(rdma_event_channel* channel, int number) {
  for (;;) {
    rdma_cm_id* const id = prepare(channel, number);
    MUST(rdma_connect(id, nullptr) == 0);
    if (take(channel) == RDMA_CM_EVENT_ESTABLISHED) return id;
    rdma_destroy_ep(id);
    usleep(20'000);
  }
}

rdma_cm_id* accept_one(rdma_event_channel* channel) {
  rdma_cm_id* id = nullptr;
  MUST(take(channel, &id) == RDMA_CM_EVENT_CONNECT_REQUEST);
  ibv_qp_init_attr init = sizes();
  MUST(rdma_create_qp(id, nullptr, &init) == 0);
  MUST(rdma_accept(id, nullptr) == 0);
  return id;
}

void over() { std::printf("rank %d: over\n", rank); }

// Hangs

void nothing_connects() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (rank == 0) listen_at(channel, 0);
  take(channel);
}

void not_accepted() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (rank == 0) {
    listen_at(channel, 0);
    take(channel);  // the request
    take(channel);
  } else {
    connect_to(channel, 0);
  }
}

void not_acknowledged() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (rank == 0) {
    rdma_cm_id* const listener = listen_at(channel, 0);
    rdma_cm_id* const id = accept_one(channel);
    rdma_cm_event* event = nullptr;
    MUST(rdma_get_cm_event(channel, &event) == 0);
    rdma_destroy_ep(id);
    rdma_destroy_ep(listener);
  } else {
    rdma_cm_id* const id = connect_to(channel, 0);
    rdma_destroy_ep(id);
  }
  over();
}

// The peer waits for a message, and does not look at its events.
void disconnect_not_answered() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (rank == 0) {
    listen_at(channel, 0);
    rdma_cm_id* const id = accept_one(channel);
    take(channel);
    char text[8];
    ibv_mr* const mr = rdma_reg_msgs(id, text, sizeof text);
    MUST(rdma_post_recv(id, nullptr, text, sizeof text, mr) == 0);
    ibv_wc wc{};
    MUST(rdma_get_recv_comp(id, &wc) == 1);
  } else {
    rdma_cm_id* const id = connect_to(channel, 0);
    MUST(rdma_disconnect(id) == 0);
    take(channel);
  }
}

// A process that ends has disconnected, whatever it was about to do.
void peer_ends() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (rank == 0) {
    listen_at(channel, 0);
    accept_one(channel);
    MUST(take(channel) == RDMA_CM_EVENT_ESTABLISHED);
    MUST(take(channel) == RDMA_CM_EVENT_DISCONNECTED);
  } else {
    connect_to(channel, 0);
  }
  over();
  std::fflush(stdout);
  _exit(0);
}

// Memory that a peer writes: it is told of the memory with the reply, and tells that it has written by disconnecting.

struct Advert {
  uint64_t address = 0;
  uint32_t key = 0;
};

void write_memory(bool reads_early) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  static int numbers[1024];
  if (rank == 0) {
    listen_at(channel, 0);
    rdma_cm_id* id = nullptr;
    MUST(take(channel, &id) == RDMA_CM_EVENT_CONNECT_REQUEST);
    ibv_qp_init_attr init = sizes();
    MUST(rdma_create_qp(id, nullptr, &init) == 0);
    ibv_mr* const mr = rdma_reg_write(id, numbers, sizeof numbers);
    const Advert advert{reinterpret_cast<uint64_t>(numbers), mr->rkey};
    rdma_conn_param param{};
    param.private_data = &advert;
    param.private_data_len = sizeof advert;
    MUST(rdma_accept(id, &param) == 0);
    MUST(take(channel) == RDMA_CM_EVENT_ESTABLISHED);
    if (reads_early) MUST(numbers[7] >= 0);  // read too early
    MUST(take(channel) == RDMA_CM_EVENT_DISCONNECTED);
    MUST(numbers[7] == 42);
  } else {
    rdma_cm_id* id = nullptr;
    rdma_cm_event* event = nullptr;
    for (;;) {
      id = prepare(channel, 0);
      MUST(rdma_connect(id, nullptr) == 0 && rdma_get_cm_event(channel, &event) == 0);
      if (event->event == RDMA_CM_EVENT_ESTABLISHED) break;
      rdma_ack_cm_event(event);
      rdma_destroy_ep(id);
      usleep(20'000);
    }
    Advert advert;
    std::memcpy(&advert, event->param.conn.private_data, sizeof advert);
    rdma_ack_cm_event(event);
    ibv_mr* const mr = rdma_reg_msgs(id, numbers, sizeof numbers);
    numbers[7] = 42;
    MUST(rdma_post_write(id, nullptr, numbers, sizeof numbers, mr, 0, advert.address, advert.key) == 0);
    ibv_wc wc{};
    MUST(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
    MUST(rdma_disconnect(id) == 0);
  }
  over();
}

// Every rank connects to all behind it, with one channel whose descriptor it polls; each sends its number to all.
void all_to_all() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  MUST(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) == 0);
  rdma_cm_id* const listener = listen_at(channel, rank);
  struct Peer {
    ibv_mr *in = nullptr, *out = nullptr;
    int text[2] = {};
    bool closed = false;
  };
  std::map<rdma_cm_id*, Peer> peers;
  const auto add = [&](rdma_cm_id* id) {
    ibv_qp_init_attr init = sizes();
    MUST(rdma_create_qp(id, nullptr, &init) == 0);
    Peer& peer = peers[id];
    peer.in = rdma_reg_msgs(id, &peer.text[0], sizeof(int));
    peer.out = rdma_reg_msgs(id, &peer.text[1], sizeof(int));
    MUST(rdma_post_recv(id, nullptr, &peer.text[0], sizeof(int), peer.in) == 0);
  };
  const auto call = [&](int number) {
    rdma_cm_id* id = nullptr;
    sockaddr_in address = address_of(number);
    MUST(rdma_create_id(channel, &id, reinterpret_cast<void*>(static_cast<intptr_t>(number)), RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&address), 1000) == 0);
  };
  for (int k = rank + 1; k < ranks; ++k) call(k);
  int established = 0, closed = 0, sum = 0;
  const auto exchange = [&] {
    for (auto& [id, peer] : peers) {
      peer.text[1] = rank + 1;
      MUST(rdma_post_send(id, nullptr, &peer.text[1], sizeof(int), peer.out, 0) == 0);
    }
    for (auto& [id, peer] : peers) {
      ibv_wc wc{};
      MUST(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
      MUST(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
      sum += peer.text[0];
    }
    // Those that have connected disconnect as well.
    for (auto& [id, peer] : peers) {
      if (id->context) MUST(rdma_disconnect(id) == 0);
    }
  };
  while (closed < ranks - 1) {
    pollfd readable{.fd = channel->fd, .events = POLLIN, .revents = 0};
    MUST(poll(&readable, 1, -1) == 1);
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel, &event) != 0) {
      MUST(errno == EAGAIN);
      continue;
    }
    rdma_cm_id* const id = event->id;
    const rdma_cm_event_type type = event->event;
    rdma_ack_cm_event(event);
    switch (type) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        MUST(rdma_resolve_route(id, 1000) == 0);
        break;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        add(id);
        MUST(rdma_connect(id, nullptr) == 0);
        break;
      case RDMA_CM_EVENT_REJECTED: {  // it does not listen yet
        const auto number = static_cast<int>(reinterpret_cast<intptr_t>(id->context));
        rdma_dereg_mr(peers[id].in);
        rdma_dereg_mr(peers[id].out);
        peers.erase(id);
        rdma_destroy_ep(id);
        usleep(20'000);
        call(number);
        break;
      }
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        add(id);
        MUST(rdma_accept(id, nullptr) == 0);
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
        if (++established == ranks - 1) exchange();
        break;
      case RDMA_CM_EVENT_DISCONNECTED:
        ++closed;
        if (!id->context) MUST(rdma_disconnect(id) == 0);
        break;
      default:
        MUST(type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
    }
  }
  MUST(sum == ranks * (ranks + 1) / 2 - (rank + 1));
  for (auto& [id, peer] : peers) {
    rdma_dereg_mr(peer.in);
    rdma_dereg_mr(peer.out);
    rdma_destroy_ep(id);
  }
  rdma_destroy_id(listener);
  rdma_destroy_event_channel(channel);
  over();
}

}  // namespace

int main(int, char** words) {
  const std::string_view name = words[1];
  first_port = static_cast<uint16_t>(std::atoi(words[2]));
  if (name == "nothing_connects") nothing_connects();
  if (name == "not_accepted") not_accepted();
  if (name == "not_acknowledged") not_acknowledged();
  if (name == "disconnect_not_answered") disconnect_not_answered();
  if (name == "peer_ends") peer_ends();
  if (name == "told_by_disconnecting") write_memory(false);
  if (name == "read_too_early") write_memory(true);
  if (name == "all_to_all") all_to_all();
}
