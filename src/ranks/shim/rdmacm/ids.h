#pragma once

// What programs get: the structs of <rdma/rdma_cma.h>, with what this library needs behind them. One mutex guards all
// of it; no thread waits for an event while it holds the mutex.

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ranks/shim/rdmacm/message.h"

#define FB_RDMACM extern "C" __attribute__((visibility("default")))

namespace fb::shim::rdmacm {

using Lock = std::unique_lock<std::mutex>;
std::mutex& mutex();

// -1, with errno.
int fail(int error);
// Functions of verbs answer a number of errno.
inline int result_of(int error) { return error == 0 ? 0 : fail(error); }

// A card that is open for as long as the process runs.
struct Card {
  ibv_context* verbs = nullptr;
  ibv_pd* pd = nullptr;  // while an identifier is bound to the card
  ibv_xrcd* xrcd = nullptr;
  uint32_t users = 0;
  uint8_t reads = 0;  // at a time, of a queue pair
  ibv_port_attr port = {};
  ibv_gid gid = {};
};
bool has_cards();
// The one for all addresses of this process: that of its GPU. Null, with errno.
Card* take_card();
void leave_card(Card& card);
ibv_xrcd* domain_of_xrc(Card& card);

enum class State {
  idle,
  bound,
  address_known,
  route_known,
  listening,
  asked,     // has sent a request
  answered,  // has a reply, and the program says when it is established
  wanted,    // has got a request
  accepted,  // has answered it
  connected,
  leaving,       // has said so
  left_by_peer,  // which waits for an answer
  over,
};

struct Id;

struct Event {
  rdma_cm_event base{};  // first
  Id* owner = nullptr;   // whose events are counted
  std::array<uint8_t, kMostData> data = {};
};

struct Channel {
  rdma_event_channel base{};  // first; its descriptor is an epoll's, of all sockets of its identifiers
  int local = -1;             // counts `events`
  std::deque<std::unique_ptr<Event>> events;
};

struct Id {
  rdma_cm_id base{};  // first
  State state = State::idle;
  bool synchronous = false;
  Card* card = nullptr;
  int socket = -1;  // bound to the port, and connected to the peer later
  uint64_t socket_token = 0;
  int timer = -1;
  uint64_t timer_token = 0;
  // Of the connection
  Message peer;  // its request or reply
  uint32_t psn = 0;
  uint32_t number = 0;  // of the queue pair
  uint8_t responder_resources = 0, initiator_depth = 0;
  uint8_t retry_count = 0, rnr_retry_count = 0;
  uint8_t ack_timeout = 0;
  std::vector<uint8_t> data_first;       // private data of rdma_getaddrinfo
  std::optional<ibv_qp_init_attr> init;  // of the queue pairs of rdma_get_request
  ibv_ece local_ece = {}, remote_ece = {};
  // Options
  bool reuses_address = false, only_own_family = false;
  std::optional<uint8_t> chosen_timeout;
  // Events that the program was given, and those that it has acknowledged
  uint32_t given = 0, completed = 0;
  std::condition_variable acknowledged;
};

inline Id& of(rdma_cm_id* id) { return *reinterpret_cast<Id*>(id); }
inline Channel& of(rdma_event_channel* channel) { return *reinterpret_cast<Channel*>(channel); }
inline bool is_datagram(const Id& id) { return id.base.qp_type == IBV_QPT_UD; }

// Channels (channel.cpp). All of these are called with the mutex.

enum class Source { listener, caller, connection, timer };
// Watches a descriptor for an identifier. The token names it, whatever becomes of the identifier.
uint64_t watch(Id& id, Source source, int descriptor);
void unwatch(uint64_t token, bool closes);
// What has come at a descriptor.
void on_listener(Id& id, int descriptor);
void on_caller(Id& id, uint64_t token, int descriptor);
void on_connection(Id& id, int descriptor);
void on_timer(Id& id);
// A caller whose request has come is a connection from now on.
void hand_over(uint64_t token, Id& to);

void push(Id& id, std::unique_ptr<Event> event);
// An event of the identifier; `data`: the first bytes of what a message has.
std::unique_ptr<Event> make_event(Id& id, rdma_cm_event_type type, int status = 0);
void set_data(Event& event, const Message& from, size_t bytes);
int migrate(Lock& lock, Id& id, rdma_event_channel* channel);
// The result of a call of a synchronous identifier is its next event.
int complete(rdma_cm_id* id);

// Identifiers (identifier.cpp)
Id* make_id(rdma_event_channel* channel, void* context, rdma_port_space space, ibv_qp_type type);
int bind_card(Id& id);
void fill_route(Id& id);
void destroy(Lock& lock, Id& id);

// Queue pairs (queue_pair.cpp)
int init_attributes(Id& id, ibv_qp_attr& attr, int& mask);
// To RTR and RTS; -1, with errno.
int connect_queue_pair(Id& id);
int stop_queue_pair(Id& id);

}  // namespace fb::shim::rdmacm
