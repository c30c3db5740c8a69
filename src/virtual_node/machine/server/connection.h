#pragma once

// The machine's end of one host thread's socket: collects bytes until a message is complete, and sends what the socket
// did not take yet. Never blocks.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/wire/channel.h"
#include "virtual_node/machine/requests/node.h"

namespace fb::machine {

class Connection {
 public:
  Connection(uint64_t own_number, UniqueFd socket) : number(own_number), socket_(std::move(socket)) {}

  const uint64_t number;
  int rank = -1;                 // of the socket that it connected to; -1: one socket for all
  HostThread* thread = nullptr;  // after hello
  bool only_asks = false;        // what the devices are
  int32_t pid = 0;
  uint64_t since = 0;  // wall nanoseconds

  int fd() const { return socket_.get(); }
  bool gone() const { return gone_; }
  // Why, if it was its own fault.
  const std::string& fault() const { return fault_; }

  // Reads what is there. True: a message is whole.
  bool read();
  bool has_message() const { return complete_; }
  wire::Kind kind_of_message() const { return incoming_.frame.kind; }
  // The message that read() announced; the next one can be read afterwards.
  wire::Received take();

  void send(const Answer& answer, wire::Kind kind);
  void send_output(std::string_view text);
  bool wants_to_write() const { return !unsent_.empty(); }
  void flush();
  // Bytes that the other end has been sent and has not read.
  bool unread() const;

 private:
  void fail(std::string why);
  void append(const wire::Frame& frame, std::span<const std::byte> body, std::span<const std::byte> blob,
              int descriptor);

  UniqueFd socket_;
  bool gone_ = false;
  std::string fault_;

  wire::Received incoming_;
  size_t got_ = 0;  // bytes of frame, body and blob
  bool complete_ = false;

  struct Parcel {
    std::vector<std::byte> bytes;
    size_t sent = 0;
    UniqueFd descriptor;
    bool is_answer = false;
  };
  std::deque<Parcel> unsent_;
  size_t unsent_bytes_ = 0;
};

}  // namespace fb::machine
