// States of queue pairs.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "virtual_node/rdma/cards.h"
#include "virtual_node/rdma/transitions.h"

namespace fb::rdma {

int Cards::modify(QueuePair& pair, const QpAttributes& to, uint32_t mask) {
  using namespace attribute;
  QpAttributes& a = pair.attributes;
  const QpState from = a.state;
  // Only between these states does a program need to say where it believes to be.
  if ((mask & current_state) != 0 &&
      (to.current != from || from == QpState::reset || from == QpState::init || from == QpState::err))
    return EINVAL;
  const QpState next = (mask & state) != 0 ? to.state : from;
  if (!is_valid_change(pair.type, from, next, mask)) return EINVAL;
  constexpr uint32_t kMostRetries = 7, kMostTimeout = 31;
  if ((mask & port) != 0 && to.port != 1) return EINVAL;
  if ((mask & pkey_index) != 0 && to.pkey_index != 0) return EINVAL;
  if ((mask & reads_out) != 0 && to.reads_out > limits_.reads) return EINVAL;
  if ((mask & reads_in) != 0 && to.reads_in > limits_.reads) return EINVAL;
  if ((mask & timeout) != 0 && to.timeout > kMostTimeout) return EINVAL;
  if ((mask & rnr_timer) != 0 && to.rnr_timer > kMostTimeout) return EINVAL;
  if ((mask & retry_count) != 0 && to.retry_count > kMostRetries) return EINVAL;
  if ((mask & rnr_retry) != 0 && to.rnr_retry > kMostRetries) return EINVAL;
  if ((mask & path_mtu) != 0 && (to.path_mtu == 0 || to.path_mtu > limits_.mtu)) return EINVAL;

  if (next == QpState::reset) {
    reset(pair);
    return 0;
  }
  if ((mask & access_flags) != 0) a.access_flags = to.access_flags;
  if ((mask & pkey_index) != 0) a.pkey_index = to.pkey_index;
  if ((mask & port) != 0) a.port = to.port;
  if ((mask & qkey) != 0) a.qkey = to.qkey;
  if ((mask & address) != 0) {
    a.remote_card = to.remote_card;
    a.reachable = to.reachable;
    a.global = to.global;
  }
  if ((mask & path_mtu) != 0) a.path_mtu = to.path_mtu;
  if ((mask & timeout) != 0) a.timeout = to.timeout;
  if ((mask & retry_count) != 0) a.retry_count = to.retry_count;
  if ((mask & rnr_retry) != 0) a.rnr_retry = to.rnr_retry;
  if ((mask & rnr_timer) != 0) a.rnr_timer = to.rnr_timer;
  if ((mask & reads_out) != 0) a.reads_out = to.reads_out;
  if ((mask & reads_in) != 0) a.reads_in = to.reads_in;
  if ((mask & remote_number) != 0) a.remote_number = to.remote_number & kPsnMask;
  if ((mask & receive_psn) != 0) a.receive_psn = pair.expected_psn = to.receive_psn & kPsnMask;
  if ((mask & send_psn) != 0) a.send_psn = pair.next_psn = to.send_psn & kPsnMask;
  if (next == QpState::sqd && from == QpState::rts)
    a.notify_drained = (mask & notify_drained) != 0 && to.notify_drained;
  if (next == QpState::err) {
    enter_error(pair, {.reason = Failure::Reason::program});
    return 0;
  }
  a.state = next;
  requester_.go_on(pair);
  return 0;
}

void Cards::enter_error(QueuePair& pair, const Failure& why) {
  if (pair.past.failure.reason == Failure::Reason::none) pair.past.failure = why;
  pair.attributes.state = QpState::err;
  flush(pair);
  responder_.abandon_starved(pair);
  if (pair.srq && !pair.told_last_receive) {
    pair.told_last_receive = true;
    around_.happened(AsyncEvent::last_receive_reached, pair);
  }
}

void Cards::flush(QueuePair& pair) {
  pair.outstanding = 0;
  std::deque<SendEntry> sends = std::exchange(pair.sends, {});
  pair.next = pair.posted;
  for (SendEntry& entry : sends) {
    // Those that are over, behind one that is not, too: only the first tells what it is.
    entry.status = Status::flushed;
    requester_.complete(pair, entry);
  }
  if (pair.state() != QpState::err) return;
  for (const ReceiveWork& work : std::exchange(pair.receives, {})) {
    Completion c;
    c.id = work.id;
    c.status = Status::flushed;
    c.opcode = CompletionOpcode::receive;
    c.queue_pair = pair.number;
    completions_.push(*pair.receive_cq, c, true);
  }
}

// As it was made; work that is outstanding disappears, and so do its completions.
void Cards::reset(QueuePair& pair) {
  responder_.abandon_starved(pair);
  const auto is_of_pair = [&](const Completion& c) { return c.queue_pair == pair.number; };
  if (pair.send_cq) std::erase_if(pair.send_cq->entries, is_of_pair);
  if (pair.receive_cq) std::erase_if(pair.receive_cq->entries, is_of_pair);
  ++pair.epoch;
  pair.sends.clear();
  pair.receives.clear();
  pair.freed = pair.next = pair.posted;
  pair.outstanding = pair.responding = 0;
  pair.atomics.clear();
  pair.next_psn = pair.expected_psn = 0;
  pair.failed = kNone;
  pair.established = pair.told_last_receive = false;
  pair.past = {};
  pair.attributes = {};
  pair.attributes.path_mtu = limits_.mtu;
}

}  // namespace fb::rdma
