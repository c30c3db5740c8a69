#pragma once

// What both directions of a connection have in common. All of these are called with the mutex.

#include "ranks/shim/rdmacm/ids.h"

namespace fb::shim::rdmacm {

bool tell(const Id& id, const Message& message);
// About the queue pair of the identifier, and its card.
Message message_of(const Id& id, Kind kind);
void on_rejected(Id& id, const Message& message);
// RDMA_CM_EVENT_TIMEWAIT_EXIT comes at its end.
void begin_time_wait(Id& id);

}  // namespace fb::shim::rdmacm
