#pragma once

// One end of a stream socket that carries frames. The client's end blocks; the machine reads its ends without blocking
// (virtual_node/machine/server/connection.h) and shares only the framing.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/wire/messages.h"

namespace fb::wire {

struct Received {
  Frame frame;
  std::vector<std::byte> body, blob;
  UniqueFd descriptor;
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}
  // Empty when the machine does not answer at `path`.
  static Channel connect(const std::string& path);

  explicit operator bool() const { return static_cast<bool>(socket_); }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  // False: the other end has gone.
  bool send(const Frame& frame, const void* body, std::span<const std::byte> blob, int descriptor = -1);
  bool receive(Received& message);

  // One request and its reply, both typed. `reply_blob` and `reply_descriptor` may be null. Text that kernels printed
  // goes to `print` (may be null) as it arrives. A lost machine is Status::unknown, and the channel is closed.
  template <Kind kKind>
  Status call(const typename Message<kKind>::Request& request, typename Message<kKind>::Reply* reply = nullptr,
              std::span<const std::byte> blob = {}, std::vector<std::byte>* reply_blob = nullptr, int descriptor = -1,
              UniqueFd* reply_descriptor = nullptr) {
    static_assert(sizeof(request) % 4 == 0);
    return call(kKind, &request, sizeof request, reply, reply ? sizeof *reply : 0, blob, reply_blob, descriptor,
                reply_descriptor);
  }
  // The same without types.
  Status call(Kind kind, const void* request, size_t request_bytes, void* reply, size_t reply_bytes,
              std::span<const std::byte> blob, std::vector<std::byte>* reply_blob, int descriptor,
              UniqueFd* reply_descriptor);

  void (*print)(std::string_view text) = nullptr;

 private:
  UniqueFd socket_;
};

// Sends as much as fits now; for the machine's end. -1: the other end has gone, else bytes sent.
// Shared framing helpers.
long send_some(int socket, std::span<const std::byte> bytes, int descriptor, bool block);
// Receives what is there. -1: gone or broken, 0: nothing now.
long receive_some(int socket, std::span<std::byte> into, UniqueFd* descriptor, bool block);

}  // namespace fb::wire
