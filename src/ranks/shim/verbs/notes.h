#pragma once

// What threads wait for, for reports of hangs.

#include <cstdint>

#include "common/wire/messages.h"

namespace fb::shim::verbs {

// The thread is about to wait outside the machine.
void note_wait(wire::VerbsWait wait, uint64_t id, uint32_t value, bool with_line);

// A poll of this thread would find nothing: the machine has said so, and nothing has changed since. Loops that count
// their polls, or look at the clock, come to their end by it: it must be fast.
extern thread_local uint32_t polls_to_skip __attribute__((tls_model("initial-exec")));
bool are_more_in_vain();
inline bool is_in_vain() {
  if (polls_to_skip == 0) return false;
  return --polls_to_skip != 0 || are_more_in_vain();
}
// What a poll has found.
void note_poll(uint64_t queue, const wire::VerbsPolled& polled);
// The thread has done something else: the next poll is a new one.
void forget_polls();

}  // namespace fb::shim::verbs
