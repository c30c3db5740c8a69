#include "audit/mutate/operators.h"

#include <algorithm>
#include <array>

#include "audit/mutate/operators_assumption.h"
#include "audit/mutate/operators_index.h"
#include "audit/mutate/operators_order.h"
#include "audit/mutate/operators_sequence.h"
#include "audit/mutate/operators_verbs.h"

namespace fb::mutate {
namespace {

constexpr std::array kOperators = {
    Operator{"drop-fence", "no fence where one is needed", drop_fence},
    Operator{"weaken-fence", "a fence for the device or the block where the system is meant", weaken_fence},
    Operator{"drop-barrier", "no barrier where one is needed", drop_barrier},
    Operator{"weaken-barrier", "a barrier of fewer threads than take part", weaken_barrier},
    Operator{"drop-exit-barrier", "a call ends before its peers have taken or brought what is theirs",
             drop_exit_barrier},
    Operator{"narrow-scope", "an atomic whose scope leaves its partner out", narrow_scope},
    Operator{"relax-acquire", "a flag is read without acquire", relax_acquire},
    Operator{"relax-release", "a flag is written without release", relax_release},
    Operator{"plain-access", "a flag is an ordinary variable", plain_access},
    Operator{"plain-update", "a counter that several add to is no atomic", plain_update},
    Operator{"flag-before-data", "the flag is stored before what it announces", flag_before_data},
    Operator{"use-before-wait", "what is waited for is used before the wait", use_before_wait},
    Operator{"drop-wait", "a signal is not waited for", drop_wait},
    Operator{"drop-signal", "a signal is never sent", drop_signal},
    Operator{"swap-send-receive", "send and receive in the other order", swap_send_receive},
    Operator{"stale-epoch", "the number of the call before", stale_epoch},
    Operator{"reuse-flag", "a flag is used again without a new number", reuse_flag},
    Operator{"single-buffer", "one buffer instead of two that alternate", single_buffer},
    Operator{"wrong-peer", "the rank next to the one that is meant", wrong_peer},
    Operator{"wrong-neighbour", "the neighbour on the other side", wrong_neighbour},
    Operator{"off-by-one", "one too many or too few: of chunks, ranks or epochs", off_by_one},
    Operator{"skip-tail", "what fills no whole vector is left out", skip_tail},
    Operator{"round-down", "a number of parts is rounded down instead of up", round_down},
    Operator{"unclipped-chunk", "the last chunk is taken for a whole one", unclipped_chunk},
    Operator{"narrow-vector", "half of a vector access", narrow_vector},
    Operator{"fast-path", "no synchronisation where vectors fit the size", unsynchronised_fast_path},
    Operator{"later-call", "no synchronisation in calls after the first ones", skip_in_later_call},
    Operator{"assume-cleared", "fresh memory is taken to be zero", assume_cleared},
    Operator{"zero-is-empty", "whatever is not zero counts as what was waited for", zero_is_empty},
    Operator{"tear-store", "data and its flag in two stores", tear_store},
    Operator{"drop-send-flag", "a work request that is not signalled, inline, fenced or solicited", drop_send_flag},
    Operator{"wrong-opcode", "a read for a write, or a message without its immediate value", wrong_opcode},
    Operator{"host-byte-order", "an immediate value in the host's byte order", host_byte_order},
    Operator{"drop-access-right", "memory or a queue pair that the peer may not use as it must", drop_access_right},
    Operator{"drop-receive", "a receive is not posted", drop_receive},
    Operator{"drop-stream-wait", "a network card does not wait for a stream", drop_stream_wait},
};

}  // namespace

std::span<const Operator> operators() { return kOperators; }

const Operator* find_operator(std::string_view name) {
  const auto* const found = std::ranges::find(kOperators, name, &Operator::name);
  return found == kOperators.end() ? nullptr : found;
}

std::string apply(std::string_view source, Change change) {
  std::ranges::sort(change, {}, &Edit::offset);
  std::string text;
  size_t at = 0;
  for (const auto& edit : change) {
    text.append(source.substr(at, edit.offset - at)).append(edit.replacement);
    at = edit.offset + edit.length;
  }
  return text.append(source.substr(at));
}

}  // namespace fb::mutate
