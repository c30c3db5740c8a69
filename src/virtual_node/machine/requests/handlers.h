#pragma once

// One function per kind of message. A handler checks its request, changes the process's state, and either answers
// (status and `reply`) or returns kLater and makes sure that the thread will be answered.

#include "virtual_node/machine/process/call.h"
#include "virtual_node/machine/requests/node_services.h"

namespace fb::machine {

#define MESSAGE(kind, Request, Reply, ...)                                                                 \
  wire::Status on_##kind(NodeServices& node, Call& call, const wire::Request& request, wire::Reply& reply, \
                         Answer& answer);
#include "common/wire/messages.def"
#undef MESSAGE

}  // namespace fb::machine
