#include "virtual_node/rdma/completion_queues.h"

#include <algorithm>

namespace fb::rdma {

void CompletionQueues::push(CompletionQueue& queue, const Completion& entry, bool solicited) {
  if (queue.broken) return;
  if (queue.entries.size() >= queue.capacity) {
    if (queue.ignores_overrun) return;
    queue.broken = true;
    around_.happened(AsyncEvent::cq_error, queue);
    for (const auto& [id, pair] : objects_.all<QueuePair>()) {
      if ((pair->send_cq != &queue && pair->receive_cq != &queue) || pair->state() == QpState::err ||
          pair->state() == QpState::reset)
        continue;
      around_.happened(AsyncEvent::qp_fatal, *pair);
      pair->attributes.state = QpState::err;
      around_.at(around_.now(), [this, number = pair->id] {
        if (QueuePair* const still = objects_.find<QueuePair>(number); still && still->state() == QpState::err)
          states_.enter_error(*still, {.reason = Failure::Reason::overrun});
      });
    }
    return;
  }
  queue.entries.push_back(entry);
  queue.entries.back().at = around_.now();
  around_.completed(queue);
  const bool told = !queue.solicited_only || solicited || entry.status != Status::success;
  if (queue.armed && !told) ++queue.past.unsolicited;
  if (!queue.armed || !told) return;
  queue.armed = false;
  ++queue.past.told;
  around_.notify(queue);
}

int CompletionQueues::poll(CompletionQueue& queue, uint32_t most, std::vector<Completion>& into) {
  if (queue.broken && queue.entries.empty()) return -1;
  int count = 0;
  for (; !queue.entries.empty() && static_cast<uint32_t>(count) < most; ++count) {
    const Completion entry = queue.entries.front();
    queue.entries.pop_front();
    ++queue.past.polled;
    if (entry.status != Status::success) {
      if (QueuePair* const pair = objects_.find_pair(queue.card, entry.queue_pair)) ++pair->past.errors_polled;
    }
    if (QueuePair* const pair = entry.sender != 0 ? objects_.find<QueuePair>(entry.sender) : nullptr)
      pair->freed = std::max(pair->freed, entry.send_index + 1);
    into.push_back(entry);
  }
  return count;
}

void CompletionQueues::arm(CompletionQueue& queue, bool solicited_only) {
  queue.solicited_only = queue.armed ? queue.solicited_only && solicited_only : solicited_only;
  queue.armed = true;
  ++queue.past.armed;
  queue.past.before_arming = queue.entries.size();
  queue.past.unsolicited = 0;
}

}  // namespace fb::rdma
