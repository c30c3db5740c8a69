#pragma once

// The cause of a deadlock, by rules about the wait-for graph, the most specific first.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_node/machine/deadlock/wait_graph.h"

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

std::string_view to_string(Cause cause);

struct Finding {
  Cause cause{};
  std::string sentence;       // without a full stop
  std::string look_at;        // the smallest change
  std::vector<size_t> waits;  // of the graph: the evidence; first in the text
};

Finding find_cause(const WaitGraph& graph);

// "rank 0, device 0, kernel f(int*), block 3, warp 0".
std::string name_of(const WaitGraph& graph, const Wait& wait);

}  // namespace fb::machine
