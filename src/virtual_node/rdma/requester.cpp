#include "virtual_node/rdma/requester.h"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

namespace fb::rdma {
namespace {

bool is_local(Opcode opcode) { return opcode == Opcode::bind_window || opcode == Opcode::local_invalidate; }

bool is_valid_for(QpType type, Opcode opcode) {
  switch (type) {
    case QpType::ud:
      return opcode == Opcode::send || opcode == Opcode::send_immediate;
    case QpType::uc:
      return !is_fetching(opcode);
    case QpType::xrc_receive:
      return false;
    default:
      return true;
  }
}

CompletionOpcode completion_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::write:
    case Opcode::write_immediate:
      return CompletionOpcode::write;
    case Opcode::read:
      return CompletionOpcode::read;
    case Opcode::compare_and_swap:
      return CompletionOpcode::compare_and_swap;
    case Opcode::fetch_and_add:
      return CompletionOpcode::fetch_and_add;
    case Opcode::local_invalidate:
      return CompletionOpcode::local_invalidate;
    case Opcode::bind_window:
      return CompletionOpcode::bind_window;
    default:
      return CompletionOpcode::send;
  }
}

uint64_t bytes_of(const SendWork& work) {
  if ((work.flags & send_flags::inline_data) != 0) return work.inlined.size();
  return std::accumulate(work.pieces.begin(), work.pieces.end(), uint64_t{0},
                         [](uint64_t sum, const Piece& piece) { return sum + piece.bytes; });
}

constexpr uint64_t kMostUnderWay = 512 << 20;  // bytes of payload, of all cards
constexpr Time kRetry = 10'000'000;            // 10 us

// Local acknowledgement timeout: 4.096 us times a power of two.
Time timeout_of(const QueuePair& pair) { return Time{4'096'000} << std::min(pair.attributes.timeout, 31u); }

}  // namespace

int Requester::check(const QueuePair& pair, const SendWork& work, uint64_t ahead) {
  const QpState state = pair.state();
  if (state == QpState::reset || state == QpState::init || state == QpState::rtr) return EINVAL;
  if (!is_valid_for(pair.type, work.opcode)) return EINVAL;
  if (pair.type == QpType::ud && !work.destination) return EINVAL;
  if (work.pieces.size() > pair.limits.send_pieces) return EINVAL;
  if ((work.flags & send_flags::inline_data) != 0 &&
      (work.inlined.size() > pair.limits.inline_bytes || is_fetching(work.opcode)))
    return EINVAL;
  if (pair.posted - pair.freed + ahead >= pair.limits.sends) return ENOMEM;
  return 0;
}

namespace {

int note_refusal(QueuePair& pair, int error) {
  ++pair.past.refused;
  pair.past.refusal = error;
  pair.past.refused_in = pair.state();
  return error;
}

}  // namespace

int Requester::post(QueuePair& pair, std::vector<SendWork> batch) {
  for (size_t k = 0; k < batch.size(); ++k) {
    if (const int error = check(pair, batch[k], k); error != 0) return note_refusal(pair, error);
  }
  for (SendWork& work : batch) post(pair, std::move(work));
  return 0;
}

int Requester::post(QueuePair& pair, SendWork work) {
  if (const int error = check(pair, work); error != 0) return note_refusal(pair, error);
  SendEntry entry;
  entry.index = pair.posted++;
  entry.bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes_of(work), ~0u));
  const bool inlined = (work.flags & send_flags::inline_data) != 0;
  entry.available = around_.started(inlined, !is_fetching(work.opcode) && memory_.is_on_device(pair, work.pieces));
  entry.work = std::move(work);
  pair.sends.push_back(std::move(entry));
  // A send queue that has stopped takes work, and gives it back.
  if (pair.state() == QpState::err || pair.state() == QpState::sqe) {
    states_.flush(pair);
  } else {
    serve_soon(pair);
  }
  return 0;
}

bool Requester::may_send(const QueuePair& pair, const SendEntry& entry) {
  if (pair.state() != QpState::rts || entry.index >= pair.failed) return false;
  if ((entry.work.flags & send_flags::fence) != 0 && pair.outstanding != 0) return false;
  // What changes keys happens behind all that was posted before it.
  if (is_local(entry.work.opcode) && entry.index != pair.sends.front().index) return false;
  return !is_fetching(entry.work.opcode) || pair.outstanding < std::max(pair.attributes.reads_out, 1u);
}

// Null: there is none, or it has to wait.
SendEntry* Requester::next_to_send(QueuePair& pair) {
  if (pair.sends.empty()) return nullptr;
  const uint64_t first = pair.sends.front().index;
  pair.next = std::max(pair.next, first);
  // Behind one that is sent again, some are over already.
  while (pair.next < pair.posted && pair.sends[pair.next - first].stage == SendEntry::Stage::done) ++pair.next;
  if (pair.next >= pair.posted) return nullptr;
  SendEntry& entry = pair.sends[pair.next - first];
  return may_send(pair, entry) ? &entry : nullptr;
}

void Requester::serve_soon(QueuePair& pair) {
  if (pair.serving) return;
  const SendEntry* const found = next_to_send(pair);
  if (!found) return;
  const SendEntry& entry = *found;
  pair.serving = true;
  around_.at(std::max({around_.now(), pair.ready, entry.available}), [this, id = pair.id] {
    QueuePair* const served = objects_.find<QueuePair>(id);
    if (!served) return;
    served->serving = false;
    serve(*served);
  });
}

void Requester::serve(QueuePair& pair) {
  SendEntry* const entry = next_to_send(pair);
  if (!entry) return;
  // No program that goes on has so much under way: it only must not fill the host's memory.
  if (*under_way_ > kMostUnderWay) {
    pair.ready = around_.now() + kRetry;
    return serve_soon(pair);
  }
  ++pair.next;
  pair.ready = around_.after_message(around_.now());
  launch(pair, *entry);
  serve_soon(pair);
}

void Requester::launch(QueuePair& pair, SendEntry& entry) {
  const SendWork& work = entry.work;
  entry.stage = SendEntry::Stage::sent;
  ++entry.attempts;
  if (work.opcode == Opcode::bind_window) return settle(pair, entry, memory_.bind(pair, work.bind));
  if (work.opcode == Opcode::local_invalidate) return settle(pair, entry, memory_.invalidate(pair, work.immediate));

  const QpAttributes& a = pair.attributes;
  const bool datagram = pair.type == QpType::ud;
  if (entry.bytes > (datagram ? a.path_mtu : longest_message_)) return settle(pair, entry, Status::local_length);
  if (is_atomic(work.opcode) && entry.bytes != sizeof(uint64_t)) return settle(pair, entry, Status::local_length);
  auto message = std::make_shared<Message>();
  if (!is_fetching(work.opcode) && !memory_.gather(pair, work, message->payload))
    return settle(pair, entry, Status::local_protection);
  if (entry.packets == 0) {
    entry.packets = std::max((entry.bytes + a.path_mtu - 1) / a.path_mtu, 1u);
    entry.psn = pair.next_psn;
    pair.next_psn = (pair.next_psn + entry.packets) & kPsnMask;
  }
  message->sender = pair.id;
  message->from_process = pair.process;
  message->from_card = pair.card;
  message->from_number = pair.number;
  message->to_card = datagram ? work.destination->card : a.remote_card;
  message->to_number = datagram ? work.remote_number : a.remote_number;
  message->type = pair.type;
  message->index = entry.index;
  message->attempt = entry.attempts;
  message->epoch = pair.epoch;
  message->psn = entry.psn;
  message->packets = entry.packets;
  message->opcode = work.opcode;
  message->flags = work.flags;
  message->immediate = work.immediate;
  message->remote_address = work.remote_address;
  message->remote_key = work.remote_key;
  message->compare_or_add = work.compare_or_add;
  message->swap = work.swap;
  // With the highest bit set the key of the queue pair is meant: programs may not set such keys themselves.
  message->srq = work.remote_srq;
  message->qkey = (work.remote_qkey >> 31) != 0 ? a.qkey : work.remote_qkey;
  message->global = datagram ? work.destination->global : a.global;
  message->bytes = entry.bytes;
  message->token = work.token;
  if (is_fetching(work.opcode)) ++pair.outstanding;
  const bool reachable = datagram ? work.destination->reachable : a.reachable;
  const auto flight = around_.fly(pair.card, reachable ? message->to_card : pair.card,
                                  {.bytes = message->payload.size(),
                                   .mtu = a.path_mtu,
                                   .inlined = (work.flags & send_flags::inline_data) != 0,
                                   .from_device = !message->payload.empty() && memory_.is_on_device(pair, work.pieces),
                                   .to_device = memory_.lands_on_device(*message)});
  // One message after the other: queue pairs and all others that use the card come in between.
  pair.ready = std::max(pair.ready, flight.left);
  const Time first = std::max(flight.first, pair.last_arrival);
  if (!message->payload.empty()) {
    *under_way_ += message->payload.size();
    message->charge = std::shared_ptr<void>(
        nullptr, [counter = under_way_, bytes = message->payload.size()](void*) { *counter -= bytes; });
  }
  // A card reads the payload of a queue pair's next message when that of this one has gone.
  pair.ready = std::max(pair.ready, flight.left);
  pair.last_arrival = std::max(flight.arrived, pair.last_arrival);
  if (reachable) delivery_.expect(message, first, pair.last_arrival);
  around_.at(pair.last_arrival, [this, message, reachable] {
    if (reachable) return delivery_.arrive(message);
    delivery_.note_nowhere(*message);
    lost(message);
  });
  if (is_reliable(pair.type)) return;
  // No answer will come.
  around_.at(flight.left, [this, message] {
    QueuePair* sender = nullptr;
    if (SendEntry* const sent = entry_of(message, sender)) settle(*sender, *sent, Status::success);
  });
}

SendEntry* Requester::entry_of(const MessagePtr& message, QueuePair*& pair) const {
  pair = objects_.find<QueuePair>(message->sender);
  if (!pair || pair->sends.empty()) return nullptr;
  const uint64_t first = pair->sends.front().index;
  if (message->index < first || message->index >= first + pair->sends.size()) return nullptr;
  SendEntry& entry = pair->sends[message->index - first];
  return entry.stage == SendEntry::Stage::sent && entry.attempts == message->attempt ? &entry : nullptr;
}

bool Requester::is_current(const Message& message) const {
  const QueuePair* const pair = objects_.find<QueuePair>(message.sender);
  if (!pair) return true;  // what is on the wire arrives
  if (pair->epoch != message.epoch) return false;
  const auto entry = std::ranges::find(pair->sends, message.index, &SendEntry::index);
  return entry == pair->sends.end() || (entry->attempts == message.attempt && entry->stage == SendEntry::Stage::sent);
}

std::function<bool()> Requester::settled(const MessagePtr& message) const {
  return [this, message] {
    QueuePair* pair = nullptr;
    return entry_of(message, pair) == nullptr;
  };
}

void Requester::lost(const MessagePtr& message) {
  QueuePair* pair = nullptr;
  SendEntry* const entry = entry_of(message, pair);
  if (!entry || !is_reliable(pair->type)) return;
  if (pair->attributes.timeout == 0) {
    entry->waits_for_ever = true;
    return;
  }
  around_.at_unless(around_.now() + timeout_of(*pair), settled(message), [this, message] {
    QueuePair* sender = nullptr;
    SendEntry* const sent = entry_of(message, sender);
    if (!sent) return;
    if (sent->retries++ >= sender->attributes.retry_count) return settle(*sender, *sent, Status::retries_exceeded);
    go_back(*sender, sent->index);
  });
}

void Requester::out_of_sequence(const MessagePtr& message, uint32_t expected) {
  QueuePair* pair = nullptr;
  SendEntry* entry = entry_of(message, pair);
  if (!entry) return;
  const auto known = std::ranges::find_if(
      pair->sends, [&](const SendEntry& e) { return e.packets != 0 && e.psn == expected && e.index < entry->index; });
  if (known != pair->sends.end()) entry = &*known;
  if (entry->retries++ >= pair->attributes.retry_count) return settle(*pair, *entry, Status::retries_exceeded);
  go_back(*pair, entry->index);
}

void Requester::receiver_not_ready(const MessagePtr& message, Time retry_after) {
  QueuePair* pair = nullptr;
  SendEntry* const entry = entry_of(message, pair);
  if (!entry) return;
  if (entry->rnr_retries++ >= pair->attributes.rnr_retry) return settle(*pair, *entry, Status::rnr_retries_exceeded);
  around_.at_unless(around_.now() + retry_after, settled(message), [this, message] {
    QueuePair* sender = nullptr;
    if (const SendEntry* const sent = entry_of(message, sender)) go_back(*sender, sent->index);
  });
}

void Requester::go_back(QueuePair& pair, uint64_t index) {
  for (SendEntry& entry : pair.sends) {
    if (entry.index < index || entry.stage != SendEntry::Stage::sent) continue;
    entry.stage = SendEntry::Stage::queued;
    entry.waits_for_ever = false;
    if (is_fetching(entry.work.opcode)) --pair.outstanding;
  }
  pair.next = index;
  serve_soon(pair);
}

void Requester::acknowledge(const MessagePtr& message, Status status, std::span<const std::byte> data) {
  QueuePair* pair = nullptr;
  SendEntry* const entry = entry_of(message, pair);
  if (!entry) return;
  if (is_fetching(entry->work.opcode) && status == Status::success &&
      !memory_.scatter(*pair, entry->work.pieces, data,
                       {.role = Touch::Role::scatter, .request = entry->work.token, .receive = nullptr}))
    status = Status::local_protection;
  settle(*pair, *entry, status);
}

void Requester::settle(QueuePair& pair, SendEntry& entry, Status status) {
  if (is_fetching(entry.work.opcode) && entry.stage == SendEntry::Stage::sent && pair.outstanding > 0)
    --pair.outstanding;
  entry.stage = SendEntry::Stage::done;
  entry.status = status;
  if (status != Status::success) pair.failed = std::min(pair.failed, entry.index);
  retire(pair);
}

// Completes what is done, in order.
void Requester::retire(QueuePair& pair) {
  while (!pair.sends.empty() && pair.sends.front().stage == SendEntry::Stage::done) {
    const SendEntry entry = std::move(pair.sends.front());
    pair.sends.pop_front();
    complete(pair, entry);
    if (entry.status == Status::success) continue;
    if (is_reliable(pair.type))
      return states_.enter_error(pair, {Failure::Reason::own_request, entry.status, entry.work.opcode, entry.work.id});
    // Only the send queue stops; what is behind the entry is flushed.
    pair.attributes.state = QpState::sqe;
    states_.flush(pair);
    pair.failed = kNone;
    return;
  }
  go_on(pair);
}

void Requester::go_on(QueuePair& pair) {
  note_drained(pair);
  serve_soon(pair);
}

void Requester::note_drained(QueuePair& pair) {
  if (pair.state() != QpState::sqd || !pair.attributes.notify_drained) return;
  if (std::ranges::any_of(pair.sends, [](const SendEntry& e) { return e.stage == SendEntry::Stage::sent; })) return;
  pair.attributes.notify_drained = false;
  around_.happened(AsyncEvent::sq_drained, pair);
}

void Requester::complete(QueuePair& pair, const SendEntry& entry) {
  const bool signaled = pair.signals_all || (entry.work.flags & send_flags::signaled) != 0;
  if (!signaled && entry.status == Status::success) {
    ++pair.past.unsignaled;
    return;
  }
  pair.past.unsignaled = 0;
  Completion c;
  c.id = entry.work.id;
  c.status = entry.status;
  c.opcode = completion_of(entry.work.opcode);
  c.bytes = entry.bytes;
  c.queue_pair = pair.number;
  c.sender = pair.id;
  c.send_index = entry.index;
  c.request = entry.work.token;
  completions_.push(*pair.send_cq, c, false);
}

}  // namespace fb::rdma
