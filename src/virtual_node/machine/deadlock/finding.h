#pragma once

// The cause of a deadlock as a rule finds it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fb::machine {

enum class Cause : uint8_t {
  calls_do_not_match,
  rank_does_not_call,
  messages_in_a_circle,
  communicators_in_a_circle,
  lost_wakeup,
  message_waits,
  message_dropped,
  queue_pair_failed,
  no_completion,
  no_event,
  nobody_sends,
  barrier_divergence,
  barrier_expects_too_many,
  not_resident,
  stream_order,
  host_and_device,
  missing_rank,
  different_collectives,
  reset,
  lost_signal,
  taken_for_empty,
  epochs_differ,
  elsewhere,
  cycle,
  early_exit,
  never_signalled,
  hosts,
  endless_loop,
};

struct Finding {
  Cause cause{};
  std::string sentence;       // without a full stop
  std::string look_at;        // the smallest change
  std::vector<size_t> waits;  // of the graph: the evidence; first in the text
};

}  // namespace fb::machine
