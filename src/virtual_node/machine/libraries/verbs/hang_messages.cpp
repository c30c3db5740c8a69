// Messages that wait, are dropped, fail, or are not sent.

#include <fmt/format.h>

#include <algorithm>

#include "virtual_node/machine/libraries/verbs/hang_finder.h"
#include "virtual_node/machine/libraries/verbs/hang_names.h"

namespace fb::machine {

using rdma::CompletionQueue;
using rdma::Drop;
using rdma::Failure;
using rdma::QpState;
using rdma::QpType;
using rdma::QueuePair;

HangFinder::Found HangFinder::stuck() const {
  for (const auto& s : cards_.stuck()) {
    using Reason = rdma::Cards::Stuck::Reason;
    const QueuePair& pair = *s.pair;
    const auto entry = std::ranges::find(pair.sends, s.work_id, [](const auto& e) { return e.work.id; });
    const std::string where = entry == pair.sends.end() ? "" : entry->work.where;
    std::string sentence =
        fmt::format("the {} with wr_id {} of {}{} waits for ever: ", name_of_request(s.opcode), s.work_id, name(pair),
                    where.empty() ? "" : fmt::format(", posted at {},", where));
    std::string look;
    switch (s.reason) {
      case Reason::no_receive:
        sentence += fmt::format("its peer, {}, {}, and rnr_retry is 7", name(*s.peer), describe_receives(*s.peer));
        look = "receives of the peer: one must be posted for each message, before it comes";
        break;
      case Reason::peer_not_ready:
        describe_peer(pair, *s.peer, sentence, look);
        break;
      case Reason::no_peer:
        describe_no_peer(pair, sentence, look);
        break;
      case Reason::send_queue_stopped:
        sentence += fmt::format("its send queue is stopped (the state is {})", name_of_state(pair.state()));
        look = "ibv_modify_qp: a queue pair in SQD serves its send queue when it is back in RTS";
        break;
    }
    const size_t behind = pair.sends.size() - 1;
    if (behind != 0) {
      const bool fenced =
          std::ranges::any_of(pair.sends, [](const auto& e) { return (e.work.flags & rdma::send_flags::fence) != 0; });
      sentence += fmt::format("; {} behind it {} too{}", counted(behind, "request"), behind == 1 ? "waits" : "wait",
                              fenced ? ", by a fence among them" : "");
    }
    return blame(Cause::message_waits, std::move(sentence), std::move(look));
  }
  return std::nullopt;
}

std::string HangFinder::describe_receives(const QueuePair& pair) const {
  if (pair.srq)
    return fmt::format(
        "has an empty shared receive queue ({}, all used)",
        counted(pair.srq->past.posted, "receive") + (pair.srq->past.posted == 1 ? " was posted" : " were posted"));
  if (pair.past.receives_posted == 0) return "has no receive posted";
  return fmt::format("has no receive left ({} posted, all used)", pair.past.receives_posted);
}

void HangFinder::describe_peer(const QueuePair& pair, const QueuePair& peer, std::string& sentence,
                               std::string& look) const {
  if (peer.type != pair.type) {
    sentence +=
        fmt::format("{} is no {} queue pair but {}", name(peer), name_of_type(pair.type), name_of_type(peer.type));
    look = "dest_qp_num, and the types of both queue pairs";
  } else if (!can_receive(peer.state())) {
    sentence += fmt::format("its peer, {}, is in {}, where it drops what comes, and timeout is 0", name(peer),
                            name_of_state(peer.state()));
    look = peer.state() == QpState::err ? describe_failure(peer)
                                        : "ibv_modify_qp of the peer: it must be in RTR before the first message "
                                          "comes; and a timeout other than 0";
  } else if (peer.attributes.remote_number != pair.number || peer.attributes.remote_card != pair.card) {
    sentence +=
        fmt::format("{} is connected to queue pair {:#x}{}, not to this one, and timeout is 0", name(peer),
                    peer.attributes.remote_number, peer.attributes.remote_card != pair.card ? " of another card" : "");
    look = "dest_qp_num and the address (LID or GID) on both sides";
  } else {
    sentence += fmt::format("it was lost on the way to {} and timeout is 0", name(peer));
    look = "timeout: with 0 nothing that is lost is sent again";
  }
}

void HangFinder::describe_no_peer(const QueuePair& pair, std::string& sentence, std::string& look) const {
  const auto& a = pair.attributes;
  look = "dest_qp_num and the address that both sides exchange; and a timeout other than 0";
  if (!a.reachable) {
    sentence += "its address (LID or GID) leads to no card, and timeout is 0";
    return;
  }
  const auto gone = gone_.find({a.remote_card, a.remote_number});
  if (gone != gone_.end()) {
    sentence += fmt::format("its peer was queue pair {:#x} of {}, which has ended, and timeout is 0", a.remote_number,
                            name_of_(gone->second));
    look = "why the peer ends before the message has come; and a timeout other than 0";
    return;
  }
  sentence +=
      fmt::format("there is no queue pair {:#x} on the card that it is sent to, and timeout is 0", a.remote_number);
  for (const auto& [id, other] : cards_.pairs()) {
    if (other->attributes.remote_number != pair.number || other->attributes.remote_card != pair.card ||
        other.get() == &pair)
      continue;
    sentence += fmt::format(" ({} is connected to this one)", name(*other));
    break;
  }
}

// Receives are posted, or messages have come, and its state is one in which it takes none.
HangFinder::Found HangFinder::not_ready() const {
  return for_each_pair([&](const Waiting& w, const CompletionQueue&, const QueuePair& pair) -> Found {
    const bool early = pair.state() == QpState::reset || pair.state() == QpState::init;
    if (!early || (pair.receives.empty() && pair.past.drops == 0 && pair.past.refused == 0)) return std::nullopt;
    return blame(
        Cause::message_waits,
        fmt::format(
            "{} waits for {}, which is in {}: it {}{}", rank(w), name(pair), name_of_state(pair.state()),
            pair.receives.empty() ? "takes nothing"
                                  : fmt::format("serves none of its {}", counted(pair.receives.size(), "receive")),
            pair.past.drops == 0 ? "" : fmt::format(", and has dropped {}", counted(pair.past.drops, "message"))),
        "ibv_modify_qp: RTR is needed to receive and RTS to send; and what it returned");
  });
}

std::string HangFinder::describe_failure(const QueuePair& pair) const {
  const Failure& f = pair.past.failure;
  switch (f.reason) {
    case Failure::Reason::own_request:
      return fmt::format("its {} with wr_id {} failed with {}", name_of_request(f.opcode), f.work_id,
                         name_of_status(f.status));
    case Failure::Reason::request_of_peer:
      return fmt::format("a{} {} of its peer failed with {}", name_of_request(f.opcode)[0] == 'R' ? "n" : "",
                         name_of_request(f.opcode), name_of_status(f.status));
    case Failure::Reason::program:
      return "the program brought it there";
    case Failure::Reason::overrun:
      return "its completion queue was overrun";
    case Failure::Reason::none:
      break;
  }
  return "a request failed";
}

HangFinder::Found HangFinder::failed() const {
  return for_each_pair([&](const Waiting& w, const CompletionQueue&, const QueuePair& pair) -> Found {
    const QueuePair* const peer = peer_of(pair);
    const bool own = pair.state() == QpState::err || pair.state() == QpState::sqe;
    const bool names_it = peer && peer->attributes.remote_number == pair.number;
    if (!own && (!peer || peer->state() != QpState::err || !names_it)) return std::nullopt;
    const QueuePair& bad = own ? pair : *peer;
    const uint64_t seen = bad.past.errors_polled;
    return blame(Cause::queue_pair_failed,
                 fmt::format("{} waits for {}{}, which is in {}: {}; nothing comes of it any more{}", rank(w),
                             name(pair), own ? "" : fmt::format(", whose peer is {}", name(bad)),
                             name_of_state(bad.state()), describe_failure(bad),
                             seen == 0 ? ""
                                       : fmt::format(" ({} in error {} polled there)", counted(seen, "completion"),
                                                     seen == 1 ? "was" : "were")),
                 seen == 0
                     ? "the completions in error of that queue pair, and asynchronous events: they were not looked at"
                     : "the status of each completion: after an error the other side must be told, and the queue pair "
                       "be connected anew");
  });
}

HangFinder::Found HangFinder::dropped() const {
  auto found = for_each_pair([&](const Waiting& w, const CompletionQueue& q, const QueuePair& pair) -> Found {
    if (pair.receive_cq != &q || pair.past.drops == 0) return std::nullopt;
    std::string why, look;
    switch (pair.past.drop) {
      case Drop::wrong_qkey:
        why = fmt::format("its Q_Key {:#x} is not that of the queue pair, {:#x}", pair.past.drop_qkey,
                          pair.attributes.qkey);
        look = "remote_qkey of the sender";
        break;
      case Drop::too_small:
        why = fmt::format("the receive has room for {} bytes, and {} came{}", pair.past.drop_room, pair.past.drop_bytes,
                          pair.type == QpType::ud ? " with the 40 of the GRH" : "");
        look = pair.type == QpType::ud ? "the size of receives: the first 40 bytes are for the GRH"
                                       : "the size of receives";
        break;
      case Drop::no_receive:
        why = "no receive was posted when it came";
        look = "receives: an unreliable queue pair drops what finds none, so they must be posted first";
        break;
      case Drop::no_right:
        why = "the queue pair's access flags do not allow it";
        look = "qp_access_flags";
        break;
      case Drop::not_ready:
        why = "the queue pair was not in RTR yet";
        look = "the order: both sides must be ready before the first message, and an unreliable one is not repeated";
        break;
      case Drop::not_its_peer:
        why = "the queue pair is connected to another one";
        look = "dest_qp_num and the address on both sides";
        break;
      case Drop::none:
        return std::nullopt;
    }
    return blame(Cause::message_dropped,
                 fmt::format("{} waits for {}, which has dropped {} of queue pair {:#x}: {}", rank(w), name(pair),
                             pair.past.drops == 1 ? "a message" : fmt::format("{} messages, the last", pair.past.drops),
                             pair.past.drop_peer, why),
                 std::move(look));
  });
  if (found) return found;
  for (const rdma::SentNowhere& sent : cards_.sent_nowhere()) {
    return blame(Cause::message_dropped,
                 fmt::format("{} of queue pair {:#x} of {} found no queue pair {:#x} where {} sent to, and {} dropped",
                             counted(sent.count, "message"), sent.number, name_of_(sent.process), sent.to,
                             sent.count == 1 ? "it was" : "they were", sent.count == 1 ? "was" : "were"),
                 "the number of the queue pair and the address that the receiver has told");
  }
  return std::nullopt;
}

HangFinder::Found HangFinder::taken_for_old() const {
  return for_each_pair([&](const Waiting& w, const CompletionQueue& q, const QueuePair& pair) -> Found {
    if (pair.receive_cq != &q || pair.past.taken_for_old == 0) return std::nullopt;
    return blame(Cause::message_dropped,
                 fmt::format("{} waits for {}, which took {} of its peer for a repetition: the packet had number "
                             "{:#x}, and rq_psn was {:#x}",
                             rank(w), name(pair), counted(pair.past.taken_for_old, "message"), pair.past.old_psn,
                             pair.attributes.receive_psn),
                 "rq_psn: it must be the sq_psn of the other side");
  });
}

HangFinder::Found HangFinder::nobody_sends() const {
  return for_each_pair([&](const Waiting& w, const CompletionQueue& q, const QueuePair& pair) -> Found {
    if (pair.receive_cq != &q || !awaits_receive(pair)) return std::nullopt;
    const QueuePair* const peer = peer_of(pair);
    std::string sentence = fmt::format("{} waits for a message on {}", rank(w), name(pair));
    std::string look = "which side sends first, and how many messages each side expects";
    const auto gone = gone_.find({pair.attributes.remote_card, pair.attributes.remote_number});
    if (peer) {
      const bool both = std::ranges::any_of(waiting_, [&](const Waiting& other) {
        return std::ranges::find(other.queues, peer->receive_cq) != other.queues.end() && awaits_receive(*peer);
      });
      sentence +=
          fmt::format(", and its peer, {}, has sent {}{}", name(*peer),
                      peer->posted == 0 ? std::string("nothing")
                                        : fmt::format("{} of which {} {} a receive", counted(peer->posted, "request"),
                                                      pair.past.received, pair.past.received == 1 ? "took" : "took"),
                      both ? ", and waits for a message too: each waits for the other" : "");
    } else if (pair.type != QpType::ud && gone != gone_.end()) {
      sentence += fmt::format(", and its peer was of {}, which has ended", name_of_(gone->second));
      look = "why the peer ends before it has sent";
    } else {
      sentence += pair.type == QpType::ud ? fmt::format(", to which {} came", counted(pair.past.received, "message"))
                                          : ", and its peer is there no more";
    }
    return blame(Cause::nobody_sends, std::move(sentence), std::move(look), true);
  });
}

}  // namespace fb::machine
