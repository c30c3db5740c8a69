#pragma once

// The processes of a run, one for each GPU: where a launcher has put them, or forked here, and how they talk. Every
// rank has one socket to rank 0: a Unix socket on one computer, else TCP. No MPI is linked.

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace harness {

// Exit codes of a run.
inline constexpr int kRight = 0, kWrong = 1, kCannotRun = 2, kHang = 3, kRankDied = 4;

// What the harness or the computer lacks: one line for the user.
struct CannotRun : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string variable(const char* name) {
  const char* text = name ? std::getenv(name) : nullptr;
  return text ? text : "";
}

struct Place {
  int rank = 0, world = 1, local = 0, local_world = 1;
  std::string host = "127.0.0.1", port = "29511";
  std::string run = "0";  // what this run has and no other on the computer
};

// Variables of a launcher's processes. Slurm says "4(x2)" for four tasks on each of two nodes: the number in front
// counts.
struct Launcher {
  const char *name, *rank, *world, *local, *local_world, *run;
};
inline constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_PORT"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_JOB_ID"},
};

inline int number(const char* name, int otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

// Nothing: this process was started by none of them.
inline std::optional<Place> place_of_launcher() {
  for (const Launcher& l : kLaunchers) {
    if (variable(l.rank).empty() || variable(l.world).empty()) continue;
    Place p;
    p.rank = number(l.rank, 0);
    p.world = number(l.world, 1);
    p.local = number(l.local, p.rank);
    p.local_world = number(l.local_world, p.world);
    p.run = std::string(l.name) + variable(l.run) + variable("SLURM_STEP_ID");
    if (!variable("MASTER_ADDR").empty()) p.host = variable("MASTER_ADDR");
    // MASTER_PORT itself is torchrun's.
    if (!variable("MASTER_PORT").empty()) p.port = std::to_string(number("MASTER_PORT", 0) + 1);
    if (!variable("FABRICBENCH_PORT").empty()) p.port = variable("FABRICBENCH_PORT");
    if (p.rank < 0 || p.rank >= p.world)
      throw CannotRun(std::string(l.name) + " says rank " + std::to_string(p.rank) + " of " + std::to_string(p.world));
    return p;
  }
  return std::nullopt;
}

// Forks the ranks and returns in each of them. The parent waits, says which rank died, and ends with its code.
inline Place fork_ranks(int world) {
  const std::string run = "fork" + std::to_string(getpid());
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw CannotRun("fork: " + std::string(std::strerror(errno)));
    if (child == 0) {
      const std::string number = std::to_string(rank), all = std::to_string(world);
      for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, number.c_str(), 1);
      for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, all.c_str(), 1);
      return Place{rank, world, rank, world, "127.0.0.1", "29511", run};
    }
    children.push_back(child);
  }
  int code = kRight;
  bool ended_by_us = false;
  for (size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    const auto rank = std::find(children.begin(), children.end(), ended) - children.begin();
    if (rank < world) children[static_cast<size_t>(rank)] = 0;
    if (WIFSIGNALED(status) && ended_by_us && WTERMSIG(status) == SIGKILL) continue;
    const int its = WIFEXITED(status) ? WEXITSTATUS(status) : kRankDied;
    if (its == kRight) continue;
    if (WIFSIGNALED(status))
      std::fprintf(stderr, "rank %d died: %s\n", static_cast<int>(rank), strsignal(WTERMSIG(status)));
    // The cause before what followed from it: that another rank has gone is the last of the codes.
    code = code == kRight ? its : std::min(code, its);
    if (its == kWrong || ended_by_us) continue;
    // The others notice, or wait for it on their GPU for ever.
    sleep(1);
    for (const pid_t child : children) {
      if (child > 0) kill(child, SIGKILL);
    }
    ended_by_us = true;
  }
  std::fflush(stdout);
  _exit(code);
}

class Ranks {
 public:
  explicit Ranks(const Place& place) : place_(place), one_node_(place.local_world == place.world) {
    if (place_.world == 1) return;
    if (place_.rank != 0) {
      sockets_.push_back(connect_to_first());
      put(sockets_[0], &place_.rank, sizeof place_.rank);
      return;
    }
    const int door = listen_here();
    sockets_.resize(static_cast<size_t>(place_.world), -1);
    for (int k = 1; k < place_.world; ++k) {
      const int peer = accept(door, nullptr, nullptr);
      int rank = 0;
      get(peer, &rank, sizeof rank);
      int& socket = sockets_.at(static_cast<size_t>(rank));
      if (socket >= 0) throw CannotRun("two processes are rank " + std::to_string(rank));
      socket = peer;
      no_delay(peer);
    }
    close(door);
  }
  const Place& place() const { return place_; }
  bool one_node() const { return one_node_; }

  void all_gather(const void* mine, size_t bytes, void* all) {
    char* to = static_cast<char*>(all);
    const size_t sum = bytes * static_cast<size_t>(place_.world);
    if (place_.rank != 0) {
      put(sockets_[0], mine, bytes);
      get(sockets_[0], to, sum);
      return;
    }
    std::memcpy(to, mine, bytes);
    for (size_t r = 1; r < sockets_.size(); ++r) get(sockets_[r], to + r * bytes, bytes);
    for (size_t r = 1; r < sockets_.size(); ++r) put(sockets_[r], to, sum);
  }
  template <class T>
  std::vector<T> all_of(const T& mine) {
    std::vector<T> all(static_cast<size_t>(place_.world));
    all_gather(&mine, sizeof mine, all.data());
    return all;
  }
  void barrier() { all_of(char{}); }
  double slowest(double mine) {
    const auto all = all_of(mine);
    return *std::max_element(all.begin(), all.end());
  }
  // That of the first rank which has one.
  std::string first_text(const std::string& mine) {
    char line[480] = "";
    std::snprintf(line, sizeof line, "%s", mine.c_str());
    std::vector<char> all(sizeof line * static_cast<size_t>(place_.world));
    all_gather(line, sizeof line, all.data());
    for (int r = 0; r < place_.world; ++r) {
      const char* text = all.data() + static_cast<size_t>(r) * sizeof line;
      if (*text) return text;
    }
    return "";
  }

  // A descriptor of `root` for all ranks of a node.
  int share(int root, int descriptor) {
    if (!one_node_) throw CannotRun("descriptors are shared on one computer only");
    if (place_.world == 1) return dup(descriptor);
    int mine = place_.rank == root ? dup(descriptor) : -1;
    if (place_.rank == 0) {
      if (root != 0) mine = get_descriptor(sockets_[static_cast<size_t>(root)]);
      for (int r = 1; r < place_.world; ++r) {
        if (r != root) put_descriptor(sockets_[static_cast<size_t>(r)], mine);
      }
    } else if (place_.rank == root) {
      put_descriptor(sockets_[0], mine);
    } else {
      mine = get_descriptor(sockets_[0]);
    }
    return mine;
  }

 private:
  [[noreturn]] static void gone() { throw std::runtime_error("another rank has gone"); }
  static void put(int socket, const void* from, size_t bytes) {
    for (const char* at = static_cast<const char*>(from); bytes > 0;) {
      const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
      if (sent <= 0) gone();
      at += sent, bytes -= static_cast<size_t>(sent);
    }
  }
  static void get(int socket, void* to, size_t bytes) {
    for (char* at = static_cast<char*>(to); bytes > 0;) {
      const ssize_t got = recv(socket, at, bytes, 0);
      if (got <= 0) gone();
      at += got, bytes -= static_cast<size_t>(got);
    }
  }

  // One byte with a descriptor beside it.
  struct Parcel {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    char byte = 0;
    iovec piece = {&byte, 1};
    msghdr message = {};
    Parcel() {
      message.msg_iov = &piece, message.msg_iovlen = 1;
      message.msg_control = control, message.msg_controllen = sizeof control;
    }
  };
  static void put_descriptor(int socket, int descriptor) {
    Parcel parcel;
    cmsghdr* head = CMSG_FIRSTHDR(&parcel.message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    if (sendmsg(socket, &parcel.message, MSG_NOSIGNAL) != 1) gone();
  }
  static int get_descriptor(int socket) {
    Parcel parcel;
    if (recvmsg(socket, &parcel.message, 0) != 1 || CMSG_FIRSTHDR(&parcel.message) == nullptr) gone();
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&parcel.message)), sizeof descriptor);
    return descriptor;
  }

  void no_delay(int socket) const {
    const int on = 1;
    if (!one_node_) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // f(family, address, length) for each address of rank 0 until one is taken.
  template <class F>
  bool addresses(bool passive, F f) const {
    if (one_node_) {
      sockaddr_un a = {};
      a.sun_family = AF_UNIX;  // abstract: no file
      const std::string name = "fabricbench-" + std::to_string(getuid()) + "-" + place_.run;
      std::memcpy(a.sun_path + 1, name.data(), std::min(name.size(), sizeof a.sun_path - 2));
      return f(AF_UNIX, reinterpret_cast<sockaddr*>(&a), static_cast<socklen_t>(sizeof a));
    }
    addrinfo wanted = {}, *found = nullptr;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = passive ? AI_PASSIVE : 0;
    if (getaddrinfo(passive ? nullptr : place_.host.c_str(), place_.port.c_str(), &wanted, &found) != 0) return false;
    bool done = false;
    for (addrinfo* a = found; a && !done; a = a->ai_next) done = f(a->ai_family, a->ai_addr, a->ai_addrlen);
    freeaddrinfo(found);
    return done;
  }
  int listen_here() const {
    int door = -1;
    const bool done = addresses(true, [&](int family, sockaddr* address, socklen_t length) {
      door = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int on = 1;
      setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      return bind(door, address, length) == 0 && listen(door, 128) == 0;
    });
    if (!done)
      throw CannotRun("rank 0 can't listen" +
                      (one_node_ ? "" : " on port " + place_.port + " (FABRICBENCH_PORT sets another)") + ": " +
                      std::strerror(errno));
    return door;
  }
  int connect_to_first() const {
    constexpr int kTries = 1200, kMicroseconds = 50'000;
    for (int tries = 0; tries < kTries; ++tries) {
      int connection = -1;
      const bool done = addresses(false, [&](int family, sockaddr* address, socklen_t length) {
        connection = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(connection, address, length) == 0) return true;
        close(connection);
        return false;
      });
      if (done) {
        no_delay(connection);
        return connection;
      }
      usleep(kMicroseconds);
    }
    throw CannotRun(
        "rank 0 does not answer" +
        (one_node_ ? std::string() : " at " + place_.host + ":" + place_.port + " (MASTER_ADDR, FABRICBENCH_PORT)"));
  }

  Place place_;
  bool one_node_;
  std::vector<int> sockets_;  // of rank 0: by rank; of others: that to rank 0
};

}  // namespace harness
