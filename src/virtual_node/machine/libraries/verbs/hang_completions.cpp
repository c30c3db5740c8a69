// Completions that do not come.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "virtual_node/machine/libraries/verbs/hang_finder.h"
#include "virtual_node/machine/libraries/verbs/hang_names.h"

namespace fb::machine {

using rdma::CompletionQueue;
using rdma::QpState;
using rdma::QueuePair;
using wire::VerbsWait;

bool HangFinder::is_full(const QueuePair& pair) const { return pair.posted - pair.freed >= pair.limits.sends; }

std::string HangFinder::describe_full(const QueuePair& pair) const {
  return fmt::format("the send queue of {} is full: none of its {} was signalled, so none can be freed by a poll",
                     name(pair), counted(pair.posted - pair.freed, "request"));
}

HangFinder::Found HangFinder::refused() const {
  // Threads that post again and again.
  for (const auto& [id, pair] : cards_.pairs()) {
    if (pair->past.refusal == ENOMEM && is_full(*pair) && pair->sends.empty() &&
        (is_waited_on(*pair) || posts_to(*pair)))
      return blame(Cause::no_completion, describe_full(*pair),
                   "IBV_SEND_SIGNALED of at least every last request of a "
                   "full queue, and a poll that takes its completion");
  }
  return for_each_pair([&](const Waiting& w, const CompletionQueue&, const QueuePair& pair) -> Found {
    if (pair.past.refused == 0 || !pair.sends.empty()) return std::nullopt;
    const bool early = pair.past.refused_in == QpState::reset || pair.past.refused_in == QpState::init ||
                       pair.past.refused_in == QpState::rtr;
    return blame(
        Cause::no_completion,
        fmt::format("{} waits for {}, and {} refused when posted ({}{})", rank(w), name(pair),
                    pair.past.refused == 1 ? "a request was" : fmt::format("{} requests were", pair.past.refused),
                    pair.past.refusal == ENOMEM ? "ENOMEM: the send queue was full" : "EINVAL",
                    early ? fmt::format(": the queue pair was in {}", name_of_state(pair.past.refused_in)) : ""),
        "what ibv_post_send returned, and the state of the queue pair: only in RTS it sends");
  });
}

bool HangFinder::posts_to(const QueuePair& pair) const {
  return std::ranges::any_of(posting_, [&](uint32_t process) { return process == pair.process; });
}

bool HangFinder::awaits_receive(const QueuePair& pair) {
  return pair.srq ? !pair.srq->work.empty() : !pair.receives.empty();
}

// Nothing that is outstanding can complete there.
bool HangFinder::is_dead(const CompletionQueue& q) const {
  return std::ranges::none_of(cards_.pairs(), [&](const auto& entry) {
    const QueuePair& pair = *entry.second;
    return (pair.send_cq == &q && !pair.sends.empty()) || (pair.receive_cq == &q && awaits_receive(pair));
  });
}

HangFinder::Found HangFinder::never_signalled() const {
  return for_each_pair([&](const Waiting& w, const CompletionQueue& q, const QueuePair& pair) -> Found {
    if (pair.send_cq != &q || pair.past.unsignaled == 0 || !pair.sends.empty() || !is_dead(q)) return std::nullopt;
    if (is_full(pair))
      return blame(Cause::no_completion, rank(w) + " polls for a completion, and " + describe_full(pair),
                   "IBV_SEND_SIGNALED of at least every last request of a full queue");
    return blame(
        Cause::no_completion,
        fmt::format("{} waits for a completion of {}, whose last {} not signalled: {} done, and {} no "
                    "completion",
                    rank(w), name(pair),
                    pair.past.unsignaled == 1 ? "request was" : fmt::format("{} requests were", pair.past.unsignaled),
                    pair.past.unsignaled == 1 ? "it is" : "they are", pair.past.unsignaled == 1 ? "makes" : "make"),
        "IBV_SEND_SIGNALED of the request, or sq_sig_all of the queue pair");
  });
}

HangFinder::Found HangFinder::plain_write() const {
  return for_each_pair([&](const Waiting& w, const CompletionQueue& q, const QueuePair& pair) -> Found {
    if (pair.receive_cq != &q || pair.past.plain_writes == 0) return std::nullopt;
    return blame(Cause::no_completion,
                 fmt::format("{} waits for a completion of {}, into which {} landed: an RDMA write without immediate "
                             "data makes no completion at its target",
                             rank(w), name(pair),
                             pair.past.plain_writes == 1 ? "an RDMA write has"
                                                         : fmt::format("{} RDMA writes have", pair.past.plain_writes)),
                 "IBV_WR_RDMA_WRITE_WITH_IMM of the peer, a send behind the write, or a look at the memory itself");
  });
}

// Completions lie in a queue that no thread looks at.
HangFinder::Found HangFinder::wrong_queue() const {
  for (const Waiting& w : waiting_) {
    if (w.how != VerbsWait::poll || !std::ranges::all_of(w.queues, [&](const auto* q) { return is_dead(*q); }))
      continue;
    for (const auto& [id, other] : cards_.completion_queues()) {
      if (other->process != w.thread->process->number || other->entries.empty()) continue;
      const bool looked_at = std::ranges::any_of(
          waiting_, [&](const Waiting& x) { return std::ranges::find(x.queues, other.get()) != x.queues.end(); });
      if (looked_at) continue;
      return blame(Cause::no_completion,
                   fmt::format("{} polls {}, where nothing can complete, and {} in {}", rank(w),
                               w.queues.empty() ? "a completion queue" : describe_queue(*w.queues.front()),
                               other->entries.size() == 1 ? "1 completion is"
                                                          : fmt::format("{} completions are", other->entries.size()),
                               describe_queue(*other)),
                   "send_cq and recv_cq of the queue pair: which of them is polled");
    }
  }
  return std::nullopt;
}

HangFinder::Found HangFinder::nothing_posted() const {
  for (const Waiting& w : waiting_) {
    if (!w.sure || w.queues.empty() || !std::ranges::all_of(w.queues, [&](const auto* q) { return is_dead(*q); }))
      continue;
    return blame(Cause::no_completion,
                 fmt::format("{} waits for a completion in {}, and no request is posted that would make one", rank(w),
                             describe_queue(*w.queues.front())),
                 "what was posted, and what posting returned: as many completions come as requests were posted", true);
  }
  return std::nullopt;
}

}  // namespace fb::machine
