#pragma once

// Addresses of programs, and the ports of RDMA, which are not those of TCP and UDP: a port of a port space is an
// abstract Unix socket of the run, so that runs do not meet, and no port of the computer is taken.

#include <rdma/rdma_cma.h>

#include <span>
#include <string>
#include <vector>

namespace fb::shim::rdmacm {

// 0: not a family that there is.
socklen_t length_of(const sockaddr* address);
in_port_t port_of(const sockaddr* address);  // network order
void set_port(sockaddr* address, in_port_t port);
bool is_any(const sockaddr* address);
// An address of this computer: it stands for a card.
bool is_local(const sockaddr* address);
// The address that a packet to `to` would come from. False: errno says why.
bool find_source(const sockaddr* to, sockaddr_storage& from);

// A socket with the name of the address; port 0 becomes a free one. -1, with errno.
int claim_port(rdma_port_space space, sockaddr* address, bool only_own_family);
// Connects to what listens there. False: nothing does (ECONNREFUSED), or too many wait (EAGAIN).
bool call_port(int socket, rdma_port_space space, const sockaddr* address);

}  // namespace fb::shim::rdmacm
