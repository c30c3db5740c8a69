#pragma once

// What programs get: the structs of <infiniband/verbs.h>, with what this library needs behind them.

#include <infiniband/verbs.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "common/wire/messages.h"

namespace fb::shim::verbs {

struct Device {
  ibv_device base{};  // first
  wire::CardFacts facts;
  uint32_t card = 0;
};

struct Context {
  uint64_t id = 0;
  Device* device = nullptr;
  verbs_context verbs{};  // its last member is what the program sees
};
Context& of(const ibv_context* context);

struct ThreadDomain {
  ibv_td base{};
  std::atomic<uint32_t> users = 0;
};
struct Domain {
  ibv_pd base{};
  uint64_t id = 0;
  // A parent domain: another name of a plain one.
  Domain* parent = nullptr;
  ThreadDomain* thread_domain = nullptr;
  std::atomic<uint32_t> users = 0;  // parent domains
};
struct XrcDomain {
  ibv_xrcd base{};
  uint64_t id = 0;
};
struct Region {
  ibv_mr base{};
  uint64_t id = 0;
  uint64_t sharing = 0;  // token of fabricbench_share; 0: none
  uint64_t iova = 0;
  void* memory = nullptr;
  int access = 0;
};
struct Window {
  ibv_mw base{};
  uint64_t id = 0;
};
struct AddressHandle {
  ibv_ah base{};
  uint64_t id = 0;
};
struct Channel {
  ibv_comp_channel base{};
  uint64_t id = 0;
};

// An object whose events programs acknowledge.
struct Told {
  uint64_t cookie = 0;
  uint32_t completion_events = 0, async_events = 0;  // that the program was given
};

struct CompletionQueue {
  ibv_cq_ex base{};  // begins as ibv_cq does
  uint64_t id = 0;
  Told told;
  // Of the extended way to poll
  std::vector<wire::VerbsCompletion> entries;
  size_t at = 0;
};
struct SharedReceiveQueue {
  ibv_srq base{};
  uint32_t number = 0;
  uint64_t id = 0;
  Told told;
  ibv_srq_attr limits{};
};
// A request that is being built (ibv_wr_…).
struct Building {
  wire::VerbsWork work;
  std::vector<wire::VerbsPiece> pieces;
  std::vector<std::byte> inlined;
};
struct QueuePair {
  ibv_qp_ex base{};  // begins with ibv_qp
  uint64_t id = 0;
  Told told;
  bool is_extended = false;
  bool signals_all = false;
  ibv_qp_cap limits{};
  ibv_ah_attr address{};
  std::vector<Building> building;
  int error = 0;  // of what was built
  std::mutex mutex;
};

inline Domain& of(ibv_pd* d) { return *reinterpret_cast<Domain*>(d); }
inline XrcDomain& of(ibv_xrcd* d) { return *reinterpret_cast<XrcDomain*>(d); }
inline Region& of(ibv_mr* r) { return *reinterpret_cast<Region*>(r); }
inline Window& of(ibv_mw* w) { return *reinterpret_cast<Window*>(w); }
inline AddressHandle& of(ibv_ah* a) { return *reinterpret_cast<AddressHandle*>(a); }
inline Channel& of(ibv_comp_channel* c) { return *reinterpret_cast<Channel*>(c); }
inline CompletionQueue& of(ibv_cq* q) { return *reinterpret_cast<CompletionQueue*>(q); }
inline CompletionQueue& of(ibv_cq_ex* q) { return *reinterpret_cast<CompletionQueue*>(q); }
inline SharedReceiveQueue& of(ibv_srq* q) { return *reinterpret_cast<SharedReceiveQueue*>(q); }
inline QueuePair& of(ibv_qp* q) { return *reinterpret_cast<QueuePair*>(q); }
inline QueuePair& of(ibv_qp_ex* q) { return *reinterpret_cast<QueuePair*>(q); }

// Events name objects by numbers: one that has been destroyed is not found any more.
uint64_t add_cookie(void* object);
void remove_cookie(uint64_t cookie);
// Calls `act` with the object, which is not destroyed before it returns. False: it has been destroyed.
bool with_object(uint64_t cookie, const std::function<void(void*)>& act);

wire::VerbsPath path_of(const ibv_ah_attr& address);

// The smallest that so many bytes fit into.
inline ibv_mtu mtu_code(uint32_t bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (128u << code) < bytes) ++code;
  return static_cast<ibv_mtu>(code);
}

// Functions that contexts point to
int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init);
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int dealloc_mw(ibv_mw* mw);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init);
int close_xrcd(ibv_xrcd* xrcd);
int get_srq_num(ibv_srq* srq, uint32_t* number);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr);
void set_builders(QueuePair& pair);
// Posts what was built, in order; a number of errno, and how many were taken.
// The line of the call that made the requests from `first` on. Null: it is looked for.
void set_line(std::vector<Building>& requests, size_t first, const void* return_address);
int post_built(uint64_t queue, wire::VerbsQueue kind, const std::vector<Building>& requests, size_t& done);

// EOPNOTSUPP; the run's record counts it by name.
int not_modelled(const char* function);

}  // namespace fb::shim::verbs
