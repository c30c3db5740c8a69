#pragma once

// One function per kind of message. A handler checks what it was given, changes the process's state, and either answers
// (its status and `reply`) or says kLater and sees to it that the thread is answered.

#include "machine/node/node.h"

namespace fb::machine {

inline constexpr auto kLater = static_cast<wire::Status>(~uint32_t{0});

struct Handlers {
#define MESSAGE(kind, Request, Reply)                                                                     \
  static wire::Status on_##kind(Node& node, Call& call, const wire::Request& request, wire::Reply& reply, \
                                Answer& answer);
#include "wire/messages.def"
#undef MESSAGE
};

}  // namespace fb::machine
