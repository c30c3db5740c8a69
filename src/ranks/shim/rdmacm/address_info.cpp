// rdma_getaddrinfo, by getaddrinfo; names of events.

#include <netdb.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ranks/shim/rdmacm/ids.h"

namespace fb::shim::rdmacm {
namespace {

addrinfo hints_of(const rdma_addrinfo& hints) {
  addrinfo to{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) to.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) to.ai_flags |= AI_NUMERICHOST;
  to.ai_family = hints.ai_family;
  switch (hints.ai_qp_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      to.ai_socktype = SOCK_STREAM;
      break;
    case IBV_QPT_UD:
      to.ai_socktype = SOCK_DGRAM;
      break;
    default:
      break;
  }
  switch (hints.ai_port_space) {
    case RDMA_PS_TCP:
      to.ai_protocol = IPPROTO_TCP;
      break;
    case RDMA_PS_IPOIB:
    case RDMA_PS_UDP:
      to.ai_protocol = IPPROTO_UDP;
      break;
    case RDMA_PS_IB:
      to.ai_protocol = to.ai_socktype == SOCK_STREAM ? IPPROTO_TCP : to.ai_socktype == SOCK_DGRAM ? IPPROTO_UDP : 0;
      break;
    default:
      break;
  }
  return to;
}

// Freed by rdma_freeaddrinfo.
sockaddr* copy_of(const sockaddr* address, socklen_t bytes) {
  auto* const copy = static_cast<sockaddr*>(std::malloc(bytes));
  if (copy) std::memcpy(copy, address, bytes);
  return copy;
}

// Numbers of getaddrinfo, or 0.
int look_up(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo& to) {
  addrinfo plain{};
  if (hints) plain = hints_of(*hints);
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(node, service, hints ? &plain : nullptr, &found); error != 0) return error;
  to.ai_qp_type = hints && hints->ai_qp_type != 0     ? hints->ai_qp_type
                  : found->ai_socktype == SOCK_STREAM ? IBV_QPT_RC
                                                      : IBV_QPT_UD;
  to.ai_port_space = hints && hints->ai_port_space != 0  ? hints->ai_port_space
                     : found->ai_protocol == IPPROTO_TCP ? RDMA_PS_TCP
                                                         : RDMA_PS_UDP;
  to.ai_family = found->ai_family;
  sockaddr* const address = copy_of(found->ai_addr, found->ai_addrlen);
  if ((found->ai_flags & AI_PASSIVE) != 0) {
    to.ai_flags = RAI_PASSIVE;
    to.ai_src_addr = address;
    to.ai_src_len = found->ai_addrlen;
    if (found->ai_canonname) to.ai_src_canonname = ::strdup(found->ai_canonname);
  } else {
    to.ai_dst_addr = address;
    to.ai_dst_len = found->ai_addrlen;
    if (found->ai_canonname) to.ai_dst_canonname = ::strdup(found->ai_canonname);
  }
  ::freeaddrinfo(found);
  return address ? 0 : fail(ENOMEM);
}

}  // namespace
}  // namespace fb::shim::rdmacm

using namespace fb::shim::rdmacm;

FB_RDMACM int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                               rdma_addrinfo** result) {
  if (!node && !service && !hints) return fail(EINVAL);
  if (!has_cards()) return fail(ENODEV);
  auto* const made = static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo)));
  if (!made) return fail(ENOMEM);
  int error = 0;
  if (node || service) {
    error = look_up(node, service, hints, *made);
  } else {
    made->ai_flags = hints->ai_flags;
    made->ai_family = hints->ai_family;
    made->ai_qp_type = hints->ai_qp_type;
    made->ai_port_space = hints->ai_port_space;
    if (hints->ai_dst_len != 0) {
      made->ai_dst_addr = copy_of(hints->ai_dst_addr, hints->ai_dst_len);
      made->ai_dst_len = hints->ai_dst_len;
    }
  }
  if (error == 0 && made->ai_src_len == 0 && hints && hints->ai_src_len != 0) {
    made->ai_src_addr = copy_of(hints->ai_src_addr, hints->ai_src_len);
    made->ai_src_len = hints->ai_src_len;
  }
  if (error != 0) {
    rdma_freeaddrinfo(made);
    return error;
  }
  *result = made;
  return 0;
}

FB_RDMACM void rdma_freeaddrinfo(rdma_addrinfo* info) {
  while (info) {
    rdma_addrinfo* const next = info->ai_next;
    std::free(info->ai_connect);
    std::free(info->ai_route);
    std::free(info->ai_src_canonname);
    std::free(info->ai_dst_canonname);
    std::free(info->ai_src_addr);
    std::free(info->ai_dst_addr);
    std::free(info);
    info = next;
  }
}

FB_RDMACM const char* rdma_event_str(rdma_cm_event_type event) {
  switch (event) {
#define NAME(name) \
  case name:       \
    return #name;
    NAME(RDMA_CM_EVENT_ADDR_RESOLVED)
    NAME(RDMA_CM_EVENT_ADDR_ERROR)
    NAME(RDMA_CM_EVENT_ROUTE_RESOLVED)
    NAME(RDMA_CM_EVENT_ROUTE_ERROR)
    NAME(RDMA_CM_EVENT_CONNECT_REQUEST)
    NAME(RDMA_CM_EVENT_CONNECT_RESPONSE)
    NAME(RDMA_CM_EVENT_CONNECT_ERROR)
    NAME(RDMA_CM_EVENT_UNREACHABLE)
    NAME(RDMA_CM_EVENT_REJECTED)
    NAME(RDMA_CM_EVENT_ESTABLISHED)
    NAME(RDMA_CM_EVENT_DISCONNECTED)
    NAME(RDMA_CM_EVENT_DEVICE_REMOVAL)
    NAME(RDMA_CM_EVENT_MULTICAST_JOIN)
    NAME(RDMA_CM_EVENT_MULTICAST_ERROR)
    NAME(RDMA_CM_EVENT_ADDR_CHANGE)
    NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT)
#undef NAME
    default:
      return "UNKNOWN EVENT";
  }
}
