// What threads wait for, and events that do not come.

#include <fmt/format.h>

#include <algorithm>

#include "common/base/text_limits.h"
#include "virtual_node/machine/libraries/verbs/hang_finder.h"
#include "virtual_node/machine/libraries/verbs/hang_names.h"

namespace fb::machine {

using rdma::CompletionQueue;
using rdma::QpType;
using rdma::QueuePair;
using wire::VerbsWait;

namespace {

constexpr size_t kMostPairs = 8;

}  // namespace

void HangFinder::add_thread(const HostThread& thread, uint64_t channel) {
  const uint32_t process = thread.process->number;
  Waiting w;
  w.thread = &thread;
  w.how = thread.note.wait;
  w.pipe = thread.note.id;
  w.count = thread.note.value;
  if (w.how == VerbsWait::none && !thread.polled.empty()) {
    w.how = VerbsWait::poll;
    for (const auto& polled : thread.polled) {
      const auto found = cards_.completion_queues().find(polled.queue);
      if (found != cards_.completion_queues().end()) w.queues.push_back(found->second.get());
    }
  } else if (w.how == VerbsWait::none && !thread.waiting && channel != 0) {
    w.how = VerbsWait::channel;
    w.pipe = channel;
    w.sure = false;
  }
  if (w.how == VerbsWait::none) return;
  if (w.how == VerbsWait::channel) {
    for (const auto& [id, queue] : cards_.completion_queues()) {
      if (queue->process == process && queue->channel == w.pipe) w.queues.push_back(queue.get());
    }
  }
  waiting_.push_back(std::move(w));
}

std::optional<CollectiveBlame> HangFinder::find() {
  if (waiting_.empty()) return std::nullopt;
  // No thread is known to wait for a card: but completions that were not told of say so.
  if (std::ranges::none_of(waiting_, &Waiting::sure)) return lost_wakeup();
  using Rule = std::optional<CollectiveBlame> (HangFinder::*)() const;
  constexpr Rule kRules[] = {
      &HangFinder::not_acknowledged, &HangFinder::lost_wakeup,  &HangFinder::stuck,       &HangFinder::not_ready,
      &HangFinder::failed,           &HangFinder::refused,      &HangFinder::dropped,     &HangFinder::taken_for_old,
      &HangFinder::never_signalled,  &HangFinder::plain_write,  &HangFinder::wrong_queue, &HangFinder::not_armed,
      &HangFinder::nothing_posted,   &HangFinder::nobody_sends, &HangFinder::no_event,
  };
  for (const Rule rule : kRules) {
    if (auto blame = (this->*rule)()) {
      add_pairs(*blame);
      return blame;
    }
  }
  return std::nullopt;
}

std::string HangFinder::describe_queue(const CompletionQueue& queue) const {
  std::string names;
  size_t users = 0;
  for (const auto& [id, pair] : cards_.pairs()) {
    const bool sends = pair->send_cq == &queue, receives = pair->receive_cq == &queue;
    if ((!sends && !receives) || ++users > 2) continue;
    names += fmt::format("{}{}queue pair {:#x}", users == 1 ? "" : " and ",
                         sends && receives ? ""
                         : sends           ? "the sends of "
                                           : "the receives of ",
                         pair->number);
  }
  if (users == 0) return "a completion queue that no queue pair uses";
  return fmt::format("the completion queue of {}{}", names, users > 2 ? " and others" : "");
}

bool HangFinder::is_waited_on(const QueuePair& pair) const {
  return std::ranges::any_of(waiting_, [&](const Waiting& w) {
    return std::ranges::any_of(w.queues, [&](const auto* q) { return q == pair.send_cq || q == pair.receive_cq; });
  });
}

const QueuePair* HangFinder::peer_of(const QueuePair& pair) const {
  return pair.type == QpType::ud ? nullptr
                                 : cards_.find_by_number(pair.attributes.remote_card, pair.attributes.remote_number);
}

HangFinder::Found HangFinder::not_acknowledged() const {
  for (const Waiting& w : waiting_) {
    if (w.how == VerbsWait::connection_acknowledgements)
      return blame(Cause::no_event,
                   fmt::format("{} destroys an identifier of which {} not been acknowledged, and waits for that",
                               rank(w), w.count == 1 ? "1 event has" : fmt::format("{} events have", w.count)),
                   "rdma_ack_cm_event: every event that rdma_get_cm_event has given must be acknowledged before its "
                   "identifier is destroyed");
    if (w.how != VerbsWait::acknowledgements) continue;
    return blame(Cause::no_event,
                 fmt::format("{} destroys an object of which {} not been acknowledged, and waits for that", rank(w),
                             w.count == 1 ? "1 event has" : fmt::format("{} events have", w.count)),
                 "ibv_ack_cq_events and ibv_ack_async_event: every event that was taken must be acknowledged before "
                 "its queue is destroyed");
  }
  return std::nullopt;
}

HangFinder::Found HangFinder::lost_wakeup() const {
  for (const Waiting& w : waiting_) {
    if (w.how != VerbsWait::channel) continue;
    for (const CompletionQueue* q : w.queues) {
      if (q->entries.empty()) continue;
      const std::string there =
          fmt::format("{} waits for an event of its completion channel, and {} in {}", rank(w),
                      q->entries.size() == 1 ? "1 completion is" : fmt::format("{} completions are", q->entries.size()),
                      describe_queue(*q));
      if (q->armed && q->solicited_only && q->past.unsolicited != 0)
        return blame(Cause::lost_wakeup,
                     there +
                         ": the queue was armed for solicited completions only, and the message was sent without "
                         "IBV_SEND_SOLICITED",
                     "IBV_SEND_SOLICITED of the sender, or solicited_only of ibv_req_notify_cq");
      if (q->armed)
        return blame(Cause::lost_wakeup,
                     fmt::format("{}: {} there before ibv_req_notify_cq armed the queue, and {} no event", there,
                                 q->past.before_arming == 1 ? "it was" : "they were",
                                 q->past.before_arming == 1 ? "makes" : "make"),
                     "ibv_req_notify_cq: poll the queue once more after it, and wait only if it is empty");
      return blame(Cause::lost_wakeup,
                   there + (q->past.armed == 0
                                ? std::string(": the queue was never armed")
                                : fmt::format(": the queue was armed {} and has told {}; it must be armed again for "
                                              "each event",
                                              q->past.armed == 1 ? "once" : fmt::format("{} times", q->past.armed),
                                              q->past.told == 1 ? "once" : fmt::format("{} times", q->past.told))),
                   "ibv_req_notify_cq before each wait, then a poll, then ibv_get_cq_event");
    }
  }
  return std::nullopt;
}

HangFinder::Found HangFinder::not_armed() const {
  for (const Waiting& w : waiting_) {
    if (w.how != VerbsWait::channel || !w.sure) continue;
    if (w.queues.empty())
      return blame(Cause::no_event, rank(w) + " waits for an event of a channel that no completion queue uses",
                   "the channel that ibv_create_cq was given", true);
    if (std::ranges::any_of(w.queues, &CompletionQueue::armed)) continue;
    return blame(Cause::lost_wakeup,
                 fmt::format("{} waits for an event of its completion channel, and {} is not armed: no completion "
                             "would make an event",
                             rank(w), describe_queue(*w.queues.front())),
                 "ibv_req_notify_cq before each wait, then a poll, then ibv_get_cq_event", true);
  }
  return std::nullopt;
}

HangFinder::Found HangFinder::no_event() const {
  for (const Waiting& w : waiting_) {
    if (w.how == VerbsWait::connections)
      return blame(Cause::no_event,
                   rank(w) + " waits for an event of a connection, and nothing is under way that would make one",
                   "rdma_get_cm_event: which event is meant, and whether the peer connects, accepts or disconnects",
                   true);
    if (w.how != VerbsWait::events) continue;
    for (const auto& [id, queue] : cards_.shared_receive_queues()) {
      if (queue->process != w.thread->process->number) continue;
      if (queue->limit != 0)
        return blame(Cause::no_event,
                     fmt::format("{} waits for an asynchronous event; the limit {} of its shared receive queue is not "
                                 "reached: {} posted",
                                 rank(w), queue->limit,
                                 counted(queue->work.size(), "receive") + (queue->work.size() == 1 ? " is" : " are")),
                     "srq_limit, and how many receives are posted and used", true);
      return blame(
          Cause::no_event,
          queue->past.limits_told != 0
              ? fmt::format("{} waits for an asynchronous event; the limit of its shared receive queue was "
                            "reached and told {}, and was not set again",
                            rank(w),
                            queue->past.limits_told == 1 ? std::string("once")
                                                         : fmt::format("{} times", queue->past.limits_told))
              : fmt::format("{} waits for an asynchronous event; no limit is set on its shared receive queue", rank(w)),
          "ibv_modify_srq with IBV_SRQ_LIMIT: a limit is told once, and must be set again", true);
    }
    return blame(Cause::no_event,
                 rank(w) + " waits for an asynchronous event, and nothing is under way that would make one",
                 "ibv_get_async_event: which event is meant, and which object would make it", true);
  }
  return std::nullopt;
}

// The state of the queue pairs that matter.
void HangFinder::add_pairs(CollectiveBlame& to) const {
  size_t named = 0;
  for (const auto& [id, pair] : cards_.pairs()) {
    const QueuePair* const peer = peer_of(*pair);
    if (!is_waited_on(*pair) && !(peer && is_waited_on(*peer)) && pair->sends.empty()) continue;
    if (++named > at_most(kMostPairs)) continue;
    to.calls.push_back(fmt::format(
        "{} ({}, {}{}): {} under way, {} posted", name(*pair), name_of_type(pair->type), name_of_state(pair->state()),
        peer ? fmt::format(", connected to {}", name(*peer)) : "", counted(pair->sends.size(), "request"),
        pair->srq ? fmt::format("{} of its shared queue are", counted(pair->srq->work.size(), "receive"))
                  : fmt::format("{} {}", counted(pair->receives.size(), "receive"),
                                pair->receives.size() == 1 ? "is" : "are")));
  }
  if (named > at_most(kMostPairs)) to.calls.push_back(fmt::format("{} more queue pairs", named - kMostPairs));
}

}  // namespace fb::machine
