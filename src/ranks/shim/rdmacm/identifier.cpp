// Identifiers: addresses, routes, options.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ranks/shim/rdmacm/address.h"
#include "ranks/shim/rdmacm/ids.h"

namespace fb::shim::rdmacm {
namespace {

constexpr uint16_t kDefaultPkey = 0xffff;
constexpr uint8_t kLifeTime = 18;  // 4.096 us · 2^18, as subnet managers have it

sockaddr* source_of(Id& id) { return &id.base.route.addr.src_addr; }
sockaddr* destination_of(Id& id) { return &id.base.route.addr.dst_addr; }

// The port is taken now, or by rdma_listen.
int bind_address(Id& id, const sockaddr* address) {
  if (id.state != State::idle) return fail(EINVAL);
  sockaddr_storage wanted{};
  std::memcpy(&wanted, address, length_of(address));
  auto* const plain = reinterpret_cast<sockaddr*>(&wanted);
  if (!is_any(plain)) {
    if (!is_local(plain)) return fail(EADDRNOTAVAIL);
    if (bind_card(id) != 0) return -1;
  }
  if (!id.reuses_address || port_of(plain) == 0) {
    id.socket = claim_port(id.base.ps, plain, id.only_own_family);
    if (id.socket < 0) return -1;
  }
  std::memcpy(&id.base.route.addr.src_storage, &wanted, sizeof wanted);
  id.state = State::bound;
  return 0;
}

void set_path(Id& id) {
  rdma_route& route = id.base.route;
  if (!route.path_rec) route.path_rec = static_cast<ibv_sa_path_rec*>(std::calloc(1, sizeof(ibv_sa_path_rec)));
  if (!route.path_rec) return;
  route.num_paths = 1;
  ibv_sa_path_rec& path = *route.path_rec;
  path.sgid = id.card->gid;
  path.slid = htobe16(id.card->port.lid);
  path.hop_limit = 1;
  path.reversible = 1;
  path.numb_path = 1;
  path.pkey = htobe16(kDefaultPkey);
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = 2;  // exactly
  path.mtu = static_cast<uint8_t>(id.card->port.active_mtu);
  path.rate = IBV_RATE_MAX;
  path.packet_life_time = kLifeTime;
}

int resolve_address(Id& id, const sockaddr* from, const sockaddr* to) {
  sockaddr_storage target{};
  std::memcpy(&target, to, length_of(to));
  auto* const plain = reinterpret_cast<sockaddr*>(&target);
  if (is_any(plain)) {  // this computer
    if (plain->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(plain)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (plain->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(plain)->sin6_addr = in6addr_loopback;
  }
  if (id.state == State::idle) {
    sockaddr_storage source{};
    source.ss_family = to->sa_family;
    if (from) std::memcpy(&source, from, length_of(from));
    if (bind_address(id, reinterpret_cast<const sockaddr*>(&source)) != 0) return -1;
  } else if (id.state != State::bound) {
    return fail(EINVAL);
  }
  if (source_of(id)->sa_family != to->sa_family) return fail(EINVAL);
  id.base.route.addr.dst_storage = target;
  // Addresses of this computer stand for cards; behind all others there is none.
  sockaddr_storage source{};
  if (!is_local(plain) || (is_any(source_of(id)) && !find_source(plain, source))) {
    push(id, make_event(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV));
    return 0;
  }
  if (bind_card(id) != 0) {
    push(id, make_event(id, RDMA_CM_EVENT_ADDR_ERROR, -errno));
    return 0;
  }
  if (is_any(source_of(id))) {
    set_port(reinterpret_cast<sockaddr*>(&source), port_of(source_of(id)));
    id.base.route.addr.src_storage = source;
  }
  id.state = State::address_known;
  push(id, make_event(id, RDMA_CM_EVENT_ADDR_RESOLVED));
  return 0;
}

int route_is_known(Id& id) {
  if (id.state != State::address_known) return fail(EINVAL);
  id.state = State::route_known;
  fill_route(id);
  push(id, make_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED));
  return 0;
}

template <class T>
bool read_option(const void* value, size_t bytes, T& into) {
  if (!value || bytes != sizeof(T)) return false;
  std::memcpy(&into, value, sizeof(T));
  return true;
}

int set_id_option(Id& id, int name, const void* value, size_t bytes) {
  uint8_t small = 0;
  int number = 0;
  switch (name) {
    case RDMA_OPTION_ID_TOS:
      return read_option(value, bytes, small) ? 0 : fail(EINVAL);
    case RDMA_OPTION_ID_REUSEADDR:
      if (!read_option(value, bytes, number) || (id.state != State::idle && number != 0)) return fail(EINVAL);
      id.reuses_address = number != 0;
      return 0;
    case RDMA_OPTION_ID_AFONLY:
      if (!read_option(value, bytes, number) || (id.state != State::idle && id.state != State::bound))
        return fail(EINVAL);
      id.only_own_family = number != 0;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (!read_option(value, bytes, small)) return fail(EINVAL);
      if (id.base.qp_type != IBV_QPT_RC && id.base.qp_type != IBV_QPT_XRC_SEND) return fail(EINVAL);
      id.chosen_timeout = small;
      return 0;
    default:
      return fail(ENOSYS);
  }
}

int create_id(rdma_event_channel* channel, rdma_cm_id** made, void* context, rdma_port_space space, ibv_qp_type type) {
  if (!has_cards()) return fail(ENODEV);
  Id* const id = make_id(channel, context, space, type);
  if (!id) return -1;
  *made = &id->base;
  return 0;
}

}  // namespace

Id* make_id(rdma_event_channel* channel, void* context, rdma_port_space space, ibv_qp_type type) {
  const bool synchronous = channel == nullptr;
  if (synchronous) channel = rdma_create_event_channel();
  if (!channel) return nullptr;
  auto* const id = new Id;
  id->synchronous = synchronous;
  id->base.channel = channel;
  id->base.context = context;
  id->base.ps = space;
  id->base.qp_type = type;
  // Any will do, and programs may ask for it before they connect; the same in every run.
  static std::atomic<uint32_t> made = 0;
  id->psn = ++made * 2654435761u >> 8;
  return id;
}

int bind_card(Id& id) {
  if (id.card) return 0;
  id.card = take_card();
  if (!id.card) return -1;
  id.base.verbs = id.card->verbs;
  id.base.pd = id.card->pd;
  id.base.port_num = 1;
  rdma_ib_addr& address = id.base.route.addr.addr.ibaddr;
  address.sgid = id.card->gid;
  address.pkey = htobe16(kDefaultPkey);
  return 0;
}

void fill_route(Id& id) {
  set_path(id);
  if (!id.base.route.path_rec) return;
  // What is known of the peer's card, once it has spoken.
  std::memcpy(id.base.route.addr.addr.ibaddr.dgid.raw, id.peer.gid.data(), id.peer.gid.size());
  id.base.route.path_rec->dgid = id.base.route.addr.addr.ibaddr.dgid;
  id.base.route.path_rec->dlid = htobe16(static_cast<uint16_t>(id.peer.lid));
}

}  // namespace fb::shim::rdmacm

using namespace fb::shim::rdmacm;

FB_RDMACM int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space) {
  const bool unconnected = space == RDMA_PS_IPOIB || space == RDMA_PS_UDP;
  if (!unconnected && space != RDMA_PS_TCP && space != RDMA_PS_IB) return fail(EINVAL);
  return create_id(channel, id, context, space, unconnected ? IBV_QPT_UD : IBV_QPT_RC);
}

FB_RDMACM int rdma_destroy_id(rdma_cm_id* id) {
  Lock lock(mutex());
  destroy(lock, of(id));
  return 0;
}

FB_RDMACM int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  if (length_of(address) == 0) return fail(EINVAL);
  const Lock lock(mutex());
  return bind_address(of(id), address);
}

FB_RDMACM int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int) {
  if (length_of(to) == 0 || (from && length_of(from) == 0)) return fail(EINVAL);
  {
    const Lock lock(mutex());
    if (resolve_address(of(id), from, to) != 0) return -1;
  }
  return complete(id);
}

FB_RDMACM int rdma_resolve_route(rdma_cm_id* id, int timeout) {
  {
    const Lock lock(mutex());
    if (timeout == 0) return fail(EINVAL);
    if (route_is_known(of(id)) != 0) return -1;
  }
  return complete(id);
}

FB_RDMACM int rdma_listen(rdma_cm_id* id, int backlog) {
  constexpr int kMost = 1024;
  const Lock lock(mutex());
  Id& listener = of(id);
  if (listener.state == State::idle) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (bind_address(listener, reinterpret_cast<const sockaddr*>(&any)) != 0) return -1;
  }
  if (listener.state != State::bound) return fail(EINVAL);
  if (listener.socket < 0) {
    listener.socket = claim_port(id->ps, source_of(listener), listener.only_own_family);
    if (listener.socket < 0) return -1;
  }
  if (::listen(listener.socket, backlog <= 0 || backlog > kMost ? kMost : backlog) != 0) return -1;
  listener.state = State::listening;
  listener.socket_token = watch(listener, Source::listener, listener.socket);
  return 0;
}

FB_RDMACM int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, size_t bytes) {
  const Lock lock(mutex());
  if (level == RDMA_OPTION_ID) return set_id_option(of(id), name, value, bytes);
  if (level != RDMA_OPTION_IB || name != RDMA_OPTION_IB_PATH) return fail(ENOSYS);
  if (!value || bytes == 0 || bytes % sizeof(ibv_path_data) != 0) return fail(EINVAL);
  return route_is_known(of(id));
}

FB_RDMACM __be16 rdma_get_src_port(rdma_cm_id* id) { return port_of(source_of(of(id))); }

FB_RDMACM __be16 rdma_get_dst_port(rdma_cm_id* id) { return port_of(destination_of(of(id))); }

FB_RDMACM int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (!id || id->qp || !ece || ece->vendor_id == 0 || ece->comp_mask != 0) return fail(EINVAL);
  of(id).local_ece = {.vendor_id = ece->vendor_id, .options = ece->options, .comp_mask = 0};
  return 0;
}

FB_RDMACM int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (!id || id->qp || !ece) return fail(EINVAL);
  *ece = of(id).remote_ece;
  return 0;
}

// Identifier and queue pair in one.

FB_RDMACM int rdma_create_ep(rdma_cm_id** made, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* init) {
  constexpr int kTimeout = 2000;  // milliseconds
  rdma_cm_id* id = nullptr;
  const auto space = static_cast<rdma_port_space>(info->ai_port_space);
  if (create_id(nullptr, &id, nullptr, space, static_cast<ibv_qp_type>(info->ai_qp_type)) != 0) return -1;
  const auto give_up = [&] {
    const int error = errno;
    rdma_destroy_ep(id);
    return fail(error);
  };
  if ((info->ai_flags & RAI_PASSIVE) != 0) {
    if (rdma_bind_addr(id, info->ai_src_addr) != 0) return give_up();
    if (pd) id->pd = pd;
    if (init) {
      of(id).init = *init;
      of(id).init->qp_type = id->qp_type;
    }
    *made = id;
    return 0;
  }
  if (rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, kTimeout) != 0) return give_up();
  if (info->ai_route_len != 0) {
    if (rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, info->ai_route, info->ai_route_len) != 0 ||
        complete(id) != 0)
      return give_up();
  } else if (rdma_resolve_route(id, kTimeout) != 0) {
    return give_up();
  }
  if (init) {
    init->qp_type = id->qp_type;
    if (rdma_create_qp(id, pd, init) != 0) return give_up();
  }
  if (info->ai_connect_len != 0) {
    const auto* const bytes = static_cast<const uint8_t*>(info->ai_connect);
    of(id).data_first.assign(bytes, bytes + info->ai_connect_len);
  }
  *made = id;
  return 0;
}

FB_RDMACM void rdma_destroy_ep(rdma_cm_id* id) {
  if (id->qp) rdma_destroy_qp(id);
  if (id->srq) rdma_destroy_srq(id);
  rdma_destroy_id(id);
}
