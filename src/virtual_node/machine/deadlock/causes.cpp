#include "virtual_node/machine/deadlock/causes.h"

#include <fmt/format.h>

#include <utility>

#include "virtual_node/machine/deadlock/rules.h"

namespace fb::machine {
std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::calls_do_not_match:
      return "calls of a collective do not match";
    case Cause::rank_does_not_call:
      return "a rank does not call the collective";
    case Cause::messages_in_a_circle:
      return "messages wait for each other";
    case Cause::communicators_in_a_circle:
      return "communicators in different order";
    case Cause::lost_wakeup:
      return "lost wakeup";
    case Cause::message_waits:
      return "a message waits for its receiver";
    case Cause::message_dropped:
      return "a message was dropped";
    case Cause::queue_pair_failed:
      return "a queue pair has failed";
    case Cause::no_completion:
      return "waits for a completion that does not come";
    case Cause::no_event:
      return "waits for an event that does not come";
    case Cause::nobody_sends:
      return "no message is sent";
    case Cause::barrier_divergence:
      return "barrier divergence";
    case Cause::barrier_expects_too_many:
      return "barrier expects too many";
    case Cause::not_resident:
      return "waits for a block that can't be resident";
    case Cause::stream_order:
      return "waits for later work of its stream";
    case Cause::host_and_device:
      return "host waits for device that waits for host";
    case Cause::missing_rank:
      return "missing rank";
    case Cause::different_collectives:
      return "ranks in different collectives";
    case Cause::reset:
      return "signalled too early and reset";
    case Cause::lost_signal:
      return "lost signal";
    case Cause::taken_for_empty:
      return "data taken for empty";
    case Cause::epochs_differ:
      return "epochs differ";
    case Cause::elsewhere:
      return "signalled elsewhere";
    case Cause::cycle:
      return "cycle";
    case Cause::early_exit:
      return "early exit";
    case Cause::never_signalled:
      return "never signalled";
    case Cause::hosts:
      return "hosts wait for each other";
    case Cause::endless_loop:
      return "endless loop";
  }
  return "?";
}

Finding find_cause(const WaitGraph& graph) {
  // The most specific first: a rule may rely on those above it having found nothing.
  // clang-format off
  constexpr rules::Found (*kRules[])(const WaitGraph&) = {
      rules::collective,
      rules::cards,
      rules::counted_barrier,
      rules::barrier,
      rules::mbarrier,
      rules::flag_of_card,
      rules::missing_rank,
      rules::surely_not_resident,
      rules::overwritten,
      rules::stream_order,
      rules::host_and_device,
      rules::different_collectives,
      rules::taken_for_empty,
      rules::lost_count,
      rules::not_cleared,
      rules::epochs_differ,
      rules::elsewhere,
      rules::waits_ahead,
      rules::left_out,
      rules::perhaps_not_resident,
      rules::cycle,
      rules::early_exit_of_blocks,
      rules::self_cycle,
      rules::early_exit,
      rules::rank_has_left,
      rules::never_signalled,
      rules::endless_loop,
      rules::barriers_at_last,
      rules::hosts,
  };
  // clang-format on
  for (const auto rule : kRules) {
    if (auto found = rule(graph)) return std::move(*found);
  }
  return {};
}

std::string name_of(const WaitGraph& graph, const Wait& wait) {
  if (wait.op != Wait::kNone) {
    const BlockedOp& op = graph.facts.ops[wait.op];
    return fmt::format("a stream of {}", op.owner);
  }
  const BlockedRun& run = graph.facts.runs[wait.run];
  const WaitingThreads& first = wait.threads.front();
  return fmt::format("{}{}kernel {}, block {}, warp {}", run.owner, run.owner.empty() ? "" : ", ",
                     short_name(run.run->grid.kernel->name), first.block, first.index);
}

}  // namespace fb::machine
