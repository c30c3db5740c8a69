#include "virtual_node/rdma/responder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

namespace fb::rdma {
namespace {

bool is_send(Opcode opcode) {
  return opcode == Opcode::send || opcode == Opcode::send_immediate || opcode == Opcode::send_invalidate;
}

bool takes_receive(Opcode opcode) { return is_send(opcode) || opcode == Opcode::write_immediate; }

bool has_immediate(Opcode opcode) { return opcode == Opcode::send_immediate || opcode == Opcode::write_immediate; }

uint32_t right_for(Opcode opcode) {
  switch (opcode) {
    case Opcode::write:
    case Opcode::write_immediate:
      return access::remote_write;
    case Opcode::read:
      return access::remote_read;
    case Opcode::compare_and_swap:
    case Opcode::fetch_and_add:
      return access::remote_atomic;
    default:
      return 0;
  }
}

bool can_receive(QpState state) {
  return state == QpState::rtr || state == QpState::rts || state == QpState::sqd || state == QpState::sqe;
}

uint64_t room_of(const ReceiveWork& work) {
  return std::accumulate(work.pieces.begin(), work.pieces.end(), uint64_t{0},
                         [](uint64_t sum, const Piece& piece) { return sum + piece.bytes; });
}

// RNR NAK timer codes, in units of 10 us (specification, table 46).
constexpr std::array<uint32_t, 32> kRnrTimers = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                                 48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                                 2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

bool has_receive(const QueuePair& pair) { return pair.srq ? !pair.srq->work.empty() : !pair.receives.empty(); }

Time rnr_delay(const QueuePair& pair) {
  return Time{kRnrTimers[pair.attributes.rnr_timer % kRnrTimers.size()]} * 10 * platform::kMicrosecond;
}

// The global route header of a datagram, as IPv6 has it.
std::vector<std::byte> grh_of(const Surroundings& around, const Message& m) {
  constexpr uint32_t kHeaders = 20;  // base and datagram headers behind it: 12 + 8 bytes
  constexpr auto kVersion = std::byte{6 << 4}, kInfiniBand = std::byte{0x1b}, kHops = std::byte{0xff};
  constexpr uint32_t kCheck = 4;
  std::vector<std::byte> header(kGrhBytes);
  const uint32_t length = kHeaders + (m.bytes + 3) / 4 * 4 + kCheck;
  header[0] = kVersion;
  header[4] = std::byte(length >> 8);
  header[5] = std::byte(length & 0xff);
  header[6] = kInfiniBand;
  header[7] = kHops;
  std::ranges::copy(around.gid(m.from_card), header.begin() + 8);
  std::ranges::copy(around.gid(m.to_card), header.begin() + 24);
  return header;
}

}  // namespace

void Responder::arrive(const MessagePtr& message) {
  const bool reliable = is_reliable(message->type);
  if (reliable && !requester_.is_current(*message)) return;
  QueuePair* const pair = objects_.find_pair(message->to_card, message->to_number);
  if (!pair || pair->type != peer_type(message->type)) {
    note_nowhere(*message);
    return requester_.lost(message);
  }
  if (!can_receive(pair->state())) {
    note_drop(*pair, *message, Drop::not_ready);
    return requester_.lost(message);
  }
  if (pair->type == QpType::ud) return arrive_unreliable(*pair, message);
  // A connection is between two queue pairs that name each other.
  if (pair->attributes.remote_number != message->from_number || pair->attributes.remote_card != message->from_card) {
    note_drop(*pair, *message, Drop::not_its_peer);
    return requester_.lost(message);
  }
  if (pair->state() == QpState::rtr && !pair->established) {
    pair->established = true;
    around_.happened(AsyncEvent::communication_established, *pair);
  }
  reliable ? arrive_reliable(*pair, message) : arrive_unreliable(*pair, message);
}

bool Responder::would_take(const QueuePair& pair, const Message& m) {
  const QpAttributes& a = pair.attributes;
  if (pair.type != m.type || !can_receive(pair.state())) return false;
  if (a.remote_number != m.from_number || a.remote_card != m.from_card) return false;
  if (is_reliable(m.type) && (pair.starved || m.psn != pair.expected_psn)) return false;
  return (a.access_flags & right_for(m.opcode)) != 0 && (!takes_receive(m.opcode) || has_receive(pair));
}

void Responder::arrive_reliable(QueuePair& pair, const MessagePtr& message) {
  if (pair.starved && !requester_.is_current(*pair.starved)) forget_starved(pair);
  if (message->psn != pair.expected_psn) {
    if (pair.starved) return;  // the peer will begin again with the one that starves
    const uint32_t ahead = (message->psn - pair.expected_psn) & kPsnMask;
    if (ahead > kPsnMask / 2) {
      if (message->attempt == 1) {
        ++pair.past.taken_for_old;
        pair.past.old_psn = message->psn;
      }
      return repeat(pair, message);
    }
    const Time told = around_.fly(pair.card, message->from_card, {.answers = true}).arrived;
    around_.at(told, [this, message, expected = pair.expected_psn] { requester_.out_of_sequence(message, expected); });
    return;
  }
  const auto refuse = [&](Status status, AsyncEvent event) {
    answer(pair, message, status, {});
    around_.happened(event, pair);
    states_.enter_error(pair, {Failure::Reason::request_of_peer, status, message->opcode});
  };
  if (pair.type == QpType::xrc_receive && !adopt(pair, *message))
    return refuse(Status::remote_invalid_request, AsyncEvent::qp_request_error);
  const Opcode opcode = message->opcode;
  const uint32_t right = right_for(opcode);
  if (right != 0 && (pair.attributes.access_flags & right) == 0)
    return refuse(Status::remote_invalid_request, AsyncEvent::qp_request_error);
  if (is_fetching(opcode) && pair.responding >= pair.attributes.reads_in)
    return refuse(Status::remote_invalid_request, AsyncEvent::qp_request_error);
  if (takes_receive(opcode) && !has_receive(pair)) return starve(pair, message);
  forget_starved(pair);
  std::vector<std::byte> data;
  const Status status = execute(pair, *message, data);
  if (status == Status::success) {
    pair.expected_psn = (pair.expected_psn + message->packets) & kPsnMask;
    if (is_atomic(opcode)) {
      pair.atomics.emplace_back(message->psn, data);
      if (pair.atomics.size() > most_reads_) pair.atomics.pop_front();
    }
    return answer(pair, message, status, std::move(data));
  }
  // What a receive completes with, in error, needs no event.
  if (is_send(opcode)) {
    answer(pair, message, status, {});
    return states_.enter_error(pair, {Failure::Reason::request_of_peer, status, opcode});
  }
  refuse(status, status == Status::remote_access ? AsyncEvent::qp_access_error : AsyncEvent::qp_request_error);
}

// An old packet. Only a read is executed again.
void Responder::repeat(QueuePair& pair, const MessagePtr& message) {
  std::vector<std::byte> data;
  if (is_atomic(message->opcode)) {
    const auto known = std::ranges::find(pair.atomics, message->psn, [](const auto& entry) { return entry.first; });
    if (known == pair.atomics.end()) return requester_.lost(message);
    data = known->second;
  } else if (message->opcode == Opcode::read && execute(pair, *message, data) != Status::success) {
    return requester_.lost(message);
  }
  answer(pair, message, Status::success, std::move(data));
}

// Nothing is answered, and what does not fit is dropped.
void Responder::arrive_unreliable(QueuePair& pair, const MessagePtr& message) {
  if (pair.type == QpType::ud && message->qkey != pair.attributes.qkey)
    return note_drop(pair, *message, Drop::wrong_qkey);
  if (const uint32_t right = right_for(message->opcode); right != 0 && (pair.attributes.access_flags & right) == 0)
    return note_drop(pair, *message, Drop::no_right);
  if (takes_receive(message->opcode) && !has_receive(pair)) return note_drop(pair, *message, Drop::no_receive);
  if (is_send(message->opcode)) {
    const ReceiveWork& next = pair.srq ? pair.srq->work.front() : pair.receives.front();
    const uint64_t needed = message->bytes + (pair.type == QpType::ud ? kGrhBytes : 0);
    if (room_of(next) < needed) {
      pair.past.drop_bytes = needed;
      pair.past.drop_room = room_of(next);
      return note_drop(pair, *message, Drop::too_small);
    }
  }
  std::vector<std::byte> data;
  execute(pair, *message, data);
}

void Responder::answer(QueuePair& pair, const MessagePtr& message, Status status, std::vector<std::byte> data) {
  Surroundings::Load load{.bytes = data.size(), .mtu = pair.attributes.path_mtu, .answers = true};
  load.atomic = is_atomic(message->opcode);
  if (!data.empty()) {
    uint64_t at = 0;
    bool relaxed = false;
    load.from_device = memory_.reach(pair, *message, right_for(message->opcode), at, relaxed) &&
                       around_.is_device_memory(pair.memory(), at);
    QueuePair* sender = nullptr;
    const SendEntry* const entry = requester_.entry_of(message, sender);
    load.to_device = entry && memory_.is_on_device(*sender, entry->work.pieces);
  }
  // A queue pair answers one read after the other: it looks at the next one when the last byte has left.
  if (message->opcode == Opcode::read) load.not_before = pair.next_answer;
  const auto flight = around_.fly(pair.card, message->from_card, load);
  if (message->opcode == Opcode::read) pair.next_answer = around_.after_message(flight.left);
  if (is_fetching(message->opcode) && status == Status::success) {
    ++pair.responding;
    around_.at(flight.left, [this, id = pair.id, epoch = pair.epoch] {
      if (QueuePair* const still = objects_.find<QueuePair>(id); still && still->epoch == epoch) --still->responding;
    });
  }
  // Answers do not overtake each other.
  pair.last_answer = std::max(pair.last_answer, flight.arrived);
  around_.at(pair.last_answer,
             [this, message, status, data = std::move(data)] { requester_.acknowledge(message, status, data); });
}

Status Responder::execute(QueuePair& pair, const Message& m, std::vector<std::byte>& data) {
  if (is_send(m.opcode)) return receive(pair, m);
  const bool atomic = is_atomic(m.opcode);
  if (atomic && m.remote_address % sizeof(uint64_t) != 0) return Status::remote_invalid_request;
  uint64_t at = 0;
  bool relaxed = false;
  if (!memory_.reach(pair, m, right_for(m.opcode), at, relaxed)) return Status::remote_access;
  if (!atomic && m.opcode != Opcode::read) {
    tell_landing(pair, m, at, relaxed);
  } else if (m.bytes != 0) {
    around_.touches(pair.memory(), at, m.bytes,
                    {.role = atomic ? Touch::Role::update : Touch::Role::fetch,
                     .card = pair.card,
                     .request = m.token,
                     .receive = nullptr,
                     .relaxed = relaxed,
                     .alone = true});
  }
  if (m.opcode == Opcode::read) {
    data.resize(m.bytes);
    return m.bytes == 0 || around_.read(pair.memory(), at, data) ? Status::success : Status::remote_access;
  }
  if (atomic) {
    data.resize(sizeof(uint64_t));
    if (!around_.read(pair.memory(), at, data)) return Status::remote_access;
    uint64_t value = 0;
    std::memcpy(&value, data.data(), sizeof value);
    if (m.opcode == Opcode::fetch_and_add) {
      value += m.compare_or_add;
    } else if (value == m.compare_or_add) {
      value = m.swap;
    }
    std::array<std::byte, sizeof value> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    return around_.write(pair.memory(), at, bytes) ? Status::success : Status::remote_access;
  }
  if (!land_rest(pair, m, at)) return Status::remote_access;
  pair.past.plain_writes += m.opcode == Opcode::write ? 1 : 0;
  pair.past.written_at = at;
  pair.past.written_bytes = m.bytes;
  return m.opcode == Opcode::write_immediate ? receive(pair, m) : Status::success;
}

ReceiveWork Responder::take_receive(QueuePair& pair) {
  std::deque<ReceiveWork>& queue = pair.srq ? pair.srq->work : pair.receives;
  ReceiveWork work = std::move(queue.front());
  queue.pop_front();
  if (pair.srq && pair.srq->limit != 0 && queue.size() < pair.srq->limit) {
    pair.srq->limit = 0;
    ++pair.srq->past.limits_told;
    around_.happened(AsyncEvent::srq_limit_reached, *pair.srq);
  }
  return work;
}

Status Responder::receive(QueuePair& pair, const Message& m) {
  const ReceiveWork work = take_receive(pair);
  ++pair.past.received;
  Completion c;
  c.id = work.id;
  c.request = m.token;
  c.queue_pair = pair.number;
  c.remote_queue_pair = m.from_number;
  c.remote_card = m.from_card;
  c.bytes = m.bytes;
  c.opcode =
      m.opcode == Opcode::write_immediate ? CompletionOpcode::receive_write_immediate : CompletionOpcode::receive;
  if (has_immediate(m.opcode)) {
    c.flags |= completion_flags::immediate;
    c.immediate = m.immediate;
  }
  Status status = Status::success;
  if (is_send(m.opcode)) {
    std::vector<std::byte> whole;
    std::span<const std::byte> content = m.payload;
    if (pair.type == QpType::ud) {
      whole = m.global ? grh_of(around_, m) : std::vector<std::byte>(kGrhBytes);
      whole.insert(whole.end(), m.payload.begin(), m.payload.end());
      content = whole;
      c.bytes += kGrhBytes;
      if (m.global) c.flags |= completion_flags::grh;
    }
    if (room_of(work) < content.size()) {
      c.status = Status::local_length;
      status = Status::remote_invalid_request;
    } else if (!memory_.scatter(pair, work.pieces, content,
                                {.role = Touch::Role::land, .request = m.token, .receive = work.token})) {
      c.status = Status::local_protection;
      status = Status::remote_operation;
    } else if (m.opcode == Opcode::send_invalidate) {
      if (memory_.invalidate(pair, m.immediate) == Status::success) {
        c.flags |= completion_flags::invalidated;
        c.immediate = m.immediate;
      } else {
        c.status = Status::local_access;
        status = Status::remote_access;
      }
    }
  }
  completions_.push(*pair.receive_cq, c, (m.flags & send_flags::solicited) != 0 || c.status != Status::success);
  return status;
}

// Receiver not ready. A sender that tries for ever waits here: what it would send in vain is not simulated.
void Responder::starve(QueuePair& pair, const MessagePtr& message) {
  constexpr uint32_t kForEver = 7;
  forget_starved(pair);
  pair.starved = message;
  pair.starved_since = around_.now();
  const QueuePair* const sender = objects_.find<QueuePair>(message->sender);
  if (sender && sender->attributes.rnr_retry == kForEver) {
    if (pair.srq) pair.srq->starved.push_back(&pair);
    pair.starves_for_ever = true;
    return;
  }
  const Time told = around_.fly(pair.card, message->from_card, {.answers = true}).arrived;
  around_.at(told, [this, message, delay = rnr_delay(pair)] { requester_.receiver_not_ready(message, delay); });
}

void Responder::forget_starved(QueuePair& pair) {
  pair.starved = nullptr;
  pair.starves_for_ever = false;
  if (pair.srq) std::erase(pair.srq->starved, &pair);
}

// A receive has come: the sender succeeds with its next try.
void Responder::feed(QueuePair& pair) {
  if (!pair.starved || !pair.starves_for_ever) return;
  const MessagePtr message = pair.starved;
  pair.starves_for_ever = false;
  const Time delay = rnr_delay(pair);
  const Time tries = (around_.now() - pair.starved_since) / delay + 1;
  around_.at(pair.starved_since + tries * delay, [this, message] {
    QueuePair* sender = nullptr;
    if (const SendEntry* const entry = requester_.entry_of(message, sender)) requester_.go_back(*sender, entry->index);
  });
}

void Responder::abandon_starved(QueuePair& pair) {
  const auto message = pair.starves_for_ever ? pair.starved : nullptr;
  forget_starved(pair);
  if (message) requester_.lost(message);
}

bool Responder::adopt(QueuePair& pair, const Message& message) {
  const auto found = std::ranges::find_if(objects_.all<SharedReceiveQueue>(), [&](const auto& entry) {
    const SharedReceiveQueue& queue = *entry.second;
    return queue.xrc && queue.number == message.srq && queue.card == pair.card &&
           queue.xrc->identity == pair.xrc->identity;
  });
  if (found == objects_.all<SharedReceiveQueue>().end()) return false;
  SharedReceiveQueue& queue = *found->second;
  pair.srq = &queue;
  pair.domain = queue.domain;
  pair.receive_cq = queue.cq;
  return true;
}

void Responder::forget_adopted(QueuePair& pair) {
  abandon_starved(pair);
  pair.srq = nullptr;
  pair.domain = nullptr;
  pair.receive_cq = nullptr;
}

int Responder::post(QueuePair& pair, ReceiveWork work) {
  if (pair.srq || pair.state() == QpState::reset || work.pieces.size() > pair.limits.receive_pieces) return EINVAL;
  if (pair.receives.size() >= pair.limits.receives) return ENOMEM;
  pair.receives.push_back(std::move(work));
  ++pair.past.receives_posted;
  if (pair.state() == QpState::err) {
    states_.flush(pair);
  } else {
    feed(pair);
  }
  return 0;
}

int Responder::post(SharedReceiveQueue& queue, ReceiveWork work) {
  if (work.pieces.size() > queue.pieces) return EINVAL;
  if (queue.work.size() >= queue.capacity) return ENOMEM;
  queue.work.push_back(std::move(work));
  ++queue.past.posted;
  const std::vector<QueuePair*> starved = std::exchange(queue.starved, {});
  for (QueuePair* const pair : starved) feed(*pair);
  return 0;
}

}  // namespace fb::rdma
