#pragma once

// What threads wait for outside the machine, told to it for reports of hangs.

#include <cstdint>

#include "common/wire/messages.h"

namespace fb::shim::rdmacm {

// With the line of the call. `none`: the wait is over.
void note_wait(wire::VerbsWait wait, uint32_t value = 0);

// Whether something is there to be handled at an epoll's descriptor; waits for it, if it may. -1: errno says why not.
int wait_for_event(int descriptor, bool may_wait, uint64_t& token);

}  // namespace fb::shim::rdmacm
