#pragma once

// Starting processes the way a rank must be started.

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fb::launcher {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor reader, writer;
};
Pipe make_pipe();

struct Start {
  std::vector<std::string> command = {};      // command[0] is a path
  std::vector<std::string> environment = {};  // NAME=VALUE
  int in = -1, out = -1, err = -1;            // -1: /dev/null
  std::vector<int> inherited = {};            // more descriptors, under the same numbers
  uint64_t data_limit = 0;                    // bytes of private memory; 0: as much as there is
  bool yielding = false;                      // gives way to others: it spins while it waits
  bool fixed_addresses = false;               // no randomised layout: the same run has the same addresses
  int death_signal = SIGKILL;                 // that it gets when this process dies
  bool outlives = false;                      // gets none, and has a session of its own: no terminal ends it either
};

// This process's, for children that are to have the same.
std::vector<std::string> own_environment();

// A process in a group of its own.
struct Process {
  pid_t id = 0;
  Descriptor handle = {};  // readable when the process has ended
};

// Throws std::system_error where the program cannot be started.
Process start_process(const Start& start);

}  // namespace fb::launcher
