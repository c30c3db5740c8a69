#pragma once

// A request of a host thread and its answer, after the server has read the one and before it writes the other.

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

struct Answer {
  wire::Status status = wire::Status::ok;
  std::vector<std::byte> body, blob;
  int descriptor = -1;  // to be sent; the node keeps ownership
  UniqueFd owned;       // to be sent and closed

  template <class Reply>
  void set_body(const Reply& reply) {
    body.resize(sizeof reply);
    std::memcpy(body.data(), &reply, sizeof reply);
  }
};

struct Call {
  HostThread* thread = nullptr;
  wire::Kind kind{};
  std::span<const std::byte> body, blob;
  UniqueFd descriptor;
};

// A handler's status when the thread will be answered later.
inline constexpr auto kLater = static_cast<wire::Status>(~uint32_t{0});

}  // namespace fb::machine
