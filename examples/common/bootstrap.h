// How the ranks of one host find each other before they can use their GPUs together: rank 0 listens at
// MASTER_ADDR:MASTER_PORT, the others connect, and everything goes through rank 0 (a star).
//
// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT are set by the launcher, as torchrun does it. Without them
// the process is alone: rank 0 of 1. All calls block, and all are collective: every rank calls them in the same order.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

class Bootstrap {
 public:
  Bootstrap() {
    if (world == 1) return;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    const char* host = std::getenv("MASTER_ADDR");
    if (!host || std::string(host) == "localhost") host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("MASTER_ADDR=%s is no IPv4 address", host);
    peers_ = connect_star(AF_INET, &address, sizeof address);
  }
  ~Bootstrap() {
    for (int socket : peers_) close(socket);
    for (int socket : descriptor_peers_) close(socket);
  }
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  const int rank = environment("RANK", 0);
  const int world = environment("WORLD_SIZE", 1);
  const int local_rank = environment("LOCAL_RANK", rank);

  // `all` receives `bytes` of each rank, in the order of ranks.
  void all_gather(const void* mine, void* all, size_t bytes) {
    auto* slots = static_cast<char*>(all);
    std::memcpy(slots + static_cast<size_t>(rank) * bytes, mine, bytes);
    const size_t total = bytes * static_cast<size_t>(world);
    if (rank == 0) {
      for (size_t r = 1; r < peers_.size() + 1; ++r) receive(peers_[r - 1], slots + r * bytes, bytes);
      for (int peer : peers_) send(peer, all, total);
    } else {
      send(peers_[0], mine, bytes);
      receive(peers_[0], all, total);
    }
  }
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    std::vector<T> all(static_cast<size_t>(world));
    all_gather(&mine, all.data(), sizeof(T));
    return all;
  }

  // Returns when all ranks have called it.
  void barrier() { all_gather(char{}); }

  // Gives `descriptor` to all ranks and returns theirs. Each is a new descriptor of this process, except its own.
  std::vector<int> all_gather_descriptors(int descriptor) {
    std::vector<int> all(static_cast<size_t>(world), descriptor);
    if (world == 1) return all;
    connect_for_descriptors();
    if (rank == 0) {
      for (size_t r = 1; r < all.size(); ++r) all[r] = receive_descriptors(descriptor_peers_[r - 1], 1)[0];
      for (int peer : descriptor_peers_) send_descriptors(peer, all);
    } else {
      send_descriptors(descriptor_peers_[0], {descriptor});
      all = receive_descriptors(descriptor_peers_[0], all.size());
      close(all[static_cast<size_t>(rank)]);
      all[static_cast<size_t>(rank)] = descriptor;
    }
    return all;
  }

  // Rank 0 gives `descriptor` to all other ranks, which pass -1 and get a descriptor of their own.
  int broadcast_descriptor(int descriptor) {
    if (world == 1) return descriptor;
    connect_for_descriptors();
    if (rank != 0) return receive_descriptors(descriptor_peers_[0], 1)[0];
    for (int peer : descriptor_peers_) send_descriptors(peer, {descriptor});
    return descriptor;
  }

 private:
  static int environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
  }

  // Rank 0: a socket to each other rank, in their order. Others: one socket, to rank 0.
  std::vector<int> connect_star(int family, const void* address, socklen_t bytes) const {
    const auto* where = static_cast<const sockaddr*>(address);
    return rank == 0 ? accept_all(family, where, bytes) : std::vector<int>{connect_to_root(family, where, bytes)};
  }

  std::vector<int> accept_all(int family, const sockaddr* where, socklen_t bytes) const {
    std::vector<int> sockets(static_cast<size_t>(world) - 1, -1);
    const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const timeval patience{kPatienceSeconds, 0};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (bind(listener, where, bytes) != 0 || listen(listener, world) != 0) fail("rank 0 can't listen: %m");
    for (int joined = 1; joined < world; ++joined) {
      const int peer = accept(listener, nullptr, nullptr);
      if (peer < 0) fail("rank 0: only %d of %d ranks came within %d s: %m", joined, world, kPatienceSeconds);
      if (family == AF_INET) setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      int32_t joining = 0;
      receive(peer, &joining, sizeof joining);
      if (joining < 1 || joining >= world || sockets[static_cast<size_t>(joining) - 1] >= 0) fail("rank %d connected twice", joining);
      sockets[static_cast<size_t>(joining) - 1] = peer;
    }
    close(listener);
    return sockets;
  }

  // Rank 0 may be late: try again for a while.
  int connect_to_root(int family, const sockaddr* where, socklen_t bytes) const {
    constexpr int kPauseMicroseconds = 5000;
    for (int tries = kPatienceSeconds * (1000000 / kPauseMicroseconds); tries > 0; --tries) {
      const int root = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(root, where, bytes) == 0) {
        const int yes = 1;
        if (family == AF_INET) setsockopt(root, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        const int32_t joining = rank;
        send(root, &joining, sizeof joining);
        return root;
      }
      close(root);
      usleep(kPauseMicroseconds);
    }
    fail("rank %d: no process listens at MASTER_PORT=%d", rank, port_);
  }

  // Descriptors travel over Unix sockets only. The name, after MASTER_PORT, begins with a zero byte: no file to remove.
  void connect_for_descriptors() {
    if (!descriptor_peers_.empty()) return;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "bootstrap-%d", port_);
    const size_t bytes = offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length);
    descriptor_peers_ = connect_star(AF_UNIX, &address, static_cast<socklen_t>(bytes));
  }

  void send(int socket, const void* data, size_t bytes) const {
    const auto* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t sent = ::send(socket, next, bytes, MSG_NOSIGNAL);
      if (sent <= 0) fail("rank %d: a rank has left: %m", rank);
      next += sent;
      bytes -= static_cast<size_t>(sent);
    }
  }
  void receive(int socket, void* data, size_t bytes) const {
    auto* next = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t received = recv(socket, next, bytes, 0);
      if (received <= 0) fail("rank %d: a rank has left", rank);
      next += received;
      bytes -= static_cast<size_t>(received);
    }
  }

  void send_descriptors(int socket, const std::vector<int>& descriptors) const {
    char byte = 0;
    iovec data{&byte, 1};
    const size_t bytes = descriptors.size() * sizeof(int);
    std::vector<char> control(CMSG_SPACE(bytes));
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
    if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) fail("rank %d: can't send a descriptor: %m", rank);
  }
  std::vector<int> receive_descriptors(int socket, size_t count) const {
    char byte = 0;
    iovec data{&byte, 1};
    std::vector<int> descriptors(count, -1);
    std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) fail("rank %d: can't receive a descriptor: %m", rank);
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_len != CMSG_LEN(count * sizeof(int))) fail("rank %d: descriptors are missing", rank);
    std::memcpy(descriptors.data(), CMSG_DATA(header), count * sizeof(int));
    return descriptors;
  }

  static constexpr int kPatienceSeconds = 30;
  const int port_ = environment("MASTER_PORT", 29500);
  std::vector<int> peers_;
  std::vector<int> descriptor_peers_;
};
