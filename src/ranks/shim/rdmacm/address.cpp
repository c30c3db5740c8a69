#include "ranks/shim/rdmacm/address.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "common/wire/identity.h"

namespace fb::shim::rdmacm {
namespace {

constexpr uint16_t kFirstFree = 49152;  // IANA's dynamic ports
constexpr uint32_t kFree = 65536 - kFirstFree;

// Processes of one run have the same socket of the machine, in a folder of the run's own.
std::string beginning() {
  const char* const variable = std::getenv(wire::kSocketVariable);
  const std::string_view socket = variable ? variable : "";
  const std::string_view folder = socket.substr(0, socket.rfind('/'));
  constexpr size_t kLongest = 40;
  std::string_view name = folder.substr(folder.rfind('/') + 1);
  name = name.substr(name.size() - std::min(name.size(), kLongest));
  return "fabricbench.rdma_cm/" + std::string(name) + "/";
}

struct Plain {
  bool is_six = false;
  bool is_any = false;
  std::string text;  // hexadecimal digits
};

std::string digits(const void* bytes, size_t count) {
  std::string text;
  for (size_t k = 0; k < count; ++k) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<const uint8_t*>(bytes)[k]);
    text += two;
  }
  return text;
}

Plain plain(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto& four = *reinterpret_cast<const sockaddr_in*>(address);
    return {.is_six = false, .is_any = four.sin_addr.s_addr == INADDR_ANY, .text = digits(&four.sin_addr, 4)};
  }
  const auto& six = *reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    const std::string text = digits(six.sin6_addr.s6_addr + 12, 4);
    return {.is_six = false, .is_any = text == "00000000", .text = text};
  }
  return {.is_six = true,
          .is_any = IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) != 0,
          .text = digits(six.sin6_addr.s6_addr, 16)};
}

// any: both families; any4, any6: one.
std::string host_name(const Plain& host, bool only_own_family) {
  if (!host.is_any) return host.text;
  return !host.is_six ? "any4" : only_own_family ? "any6" : "any";
}

// Whether a packet could be for both.
bool overlap(std::string_view a, std::string_view b) {
  const auto has = [](std::string_view name, bool six) {
    return name == "any" || name == (six ? "any6" : "any4") || name.size() == (six ? 32 : 8);
  };
  if (!a.starts_with("any") && !b.starts_with("any")) return a == b;
  return (has(a, true) && has(b, true)) || (has(a, false) && has(b, false));
}

std::string port_name(rdma_port_space space, in_port_t port) {
  return beginning() + std::to_string(static_cast<unsigned>(space)) + "/" + std::to_string(ntohs(port)) + "/";
}

// Linux knows of the same name only. Sockets that are connected (state 3) do not listen.
bool is_taken(const std::string& port, std::string_view host) {
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const size_t at = line.find("@" + port);
    if (at == std::string::npos) continue;
    char state[8] = {};
    if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %*s %7s", state) == 1 && std::string_view(state) == "03") continue;
    if (overlap(std::string_view(line).substr(at + 1 + port.size()), host)) return true;
  }
  return false;
}

socklen_t set_name(sockaddr_un& address, const std::string& name) {
  address = {};
  address.sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), bytes);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

int try_claim(rdma_port_space space, const sockaddr* address, bool only_own_family) {
  const std::string port = port_name(space, port_of(address)), host = host_name(plain(address), only_own_family);
  if (is_taken(port, host)) {
    errno = EADDRINUSE;
    return -1;
  }
  const int made = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  sockaddr_un name;
  const socklen_t bytes = set_name(name, port + host);
  if (::bind(made, reinterpret_cast<const sockaddr*>(&name), bytes) == 0) return made;
  const int error = errno;
  ::close(made);
  errno = error;
  return -1;
}

}  // namespace

socklen_t length_of(const sockaddr* address) {
  if (!address) return 0;
  return address->sa_family == AF_INET    ? sizeof(sockaddr_in)
         : address->sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                          : 0;
}

in_port_t port_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) return reinterpret_cast<const sockaddr_in*>(address)->sin_port;
  if (address->sa_family == AF_INET6) return reinterpret_cast<const sockaddr_in6*>(address)->sin6_port;
  return 0;
}

void set_port(sockaddr* address, in_port_t port) {
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = port;
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = port;
}

bool is_any(const sockaddr* address) { return plain(address).is_any; }

bool is_local(const sockaddr* address) {
  const int probe = ::socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  sockaddr_storage any_port{};
  std::memcpy(&any_port, address, length_of(address));
  set_port(reinterpret_cast<sockaddr*>(&any_port), 0);
  const bool is = ::bind(probe, reinterpret_cast<const sockaddr*>(&any_port), length_of(address)) == 0;
  ::close(probe);
  return is;
}

bool find_source(const sockaddr* to, sockaddr_storage& from) {
  const int probe = ::socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  sockaddr_storage with_port{};
  std::memcpy(&with_port, to, length_of(to));
  if (port_of(to) == 0) set_port(reinterpret_cast<sockaddr*>(&with_port), htons(9));
  socklen_t bytes = sizeof from;
  from = {};
  const bool found = ::connect(probe, reinterpret_cast<const sockaddr*>(&with_port), length_of(to)) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&from), &bytes) == 0;
  const int error = errno;
  ::close(probe);
  errno = error;
  set_port(reinterpret_cast<sockaddr*>(&from), 0);
  return found;
}

int claim_port(rdma_port_space space, sockaddr* address, bool only_own_family) {
  if (port_of(address) != 0) return try_claim(space, address, only_own_family);
  // The same in every run.
  static std::atomic<uint32_t> next = static_cast<uint32_t>(std::max(wire::hello_of_this_thread().rank, 0)) * 97;
  for (uint32_t k = 0; k < kFree; ++k) {
    set_port(address, htons(static_cast<uint16_t>(kFirstFree + next++ % kFree)));
    const int made = try_claim(space, address, only_own_family);
    if (made >= 0) return made;
    if (errno != EADDRINUSE) break;
  }
  set_port(address, 0);
  if (errno == EADDRINUSE) errno = EADDRNOTAVAIL;
  return -1;
}

bool call_port(int socket, rdma_port_space space, const sockaddr* address) {
  const std::string port = port_name(space, port_of(address));
  const Plain host = plain(address);
  for (const std::string& name : {host.text, std::string(host.is_six ? "any6" : "any4"), std::string("any")}) {
    sockaddr_un at;
    const socklen_t bytes = set_name(at, port + name);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), bytes) == 0) return true;
    if (errno != ECONNREFUSED) return false;
  }
  return false;
}

}  // namespace fb::shim::rdmacm
