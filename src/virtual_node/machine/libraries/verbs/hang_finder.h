#pragma once

// Why programs that use network cards wait for ever: rules about what threads wait for, the state of queue pairs, and
// what has happened to them, the surest first.

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/rdma/cards.h"

namespace fb::machine {

class HangFinder {
 public:
  using Numbers = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;
  // `gone`: queue pairs of processes that have ended, by card and number.
  HangFinder(const rdma::Cards& cards, const Numbers& gone, std::function<std::string(uint32_t process)> name_of)
      : cards_(cards), gone_(gone), name_of_(std::move(name_of)) {}

  // `channel`: of the process, which it may look at outside the machine by other means; 0: none.
  void add_thread(const HostThread& thread, uint64_t channel);
  // A thread of it posts to a full send queue again and again.
  void add_posting(uint32_t process) { posting_.push_back(process); }

  std::optional<CollectiveBlame> find();
  // "the completion queue of the sends of queue pair 0x10".
  std::string describe_queue(const rdma::CompletionQueue& queue) const;

 private:
  using CompletionQueue = rdma::CompletionQueue;
  using QueuePair = rdma::QueuePair;
  using Found = std::optional<CollectiveBlame>;

  // A thread that waits for a card.
  struct Waiting {
    const HostThread* thread = nullptr;
    wire::VerbsWait how{};
    std::vector<const CompletionQueue*> queues;  // that it polls, or those of its channel
    uint64_t pipe = 0;
    uint32_t count = 0;  // events that are not acknowledged
    bool sure = true;    // false: it waits outside the machine, for one knows not what
  };

  static CollectiveBlame blame(Cause cause, std::string sentence, std::string look_at, bool victim = false) {
    CollectiveBlame b;
    b.cause = static_cast<uint8_t>(cause);
    b.sentence = std::move(sentence);
    b.look_at = std::move(look_at);
    b.is_victim = victim;
    return b;
  }
  std::string name(const QueuePair& pair) const {
    return fmt::format("queue pair {:#x} of {}", pair.number, name_of_(pair.process));
  }
  std::string rank(const Waiting& w) const { return name_of_(w.thread->process->number); }
  // Queue pairs that threads wait for, with the wait.
  template <class F>
  Found for_each_pair(F f) const {
    for (const Waiting& w : waiting_) {
      if (!w.sure) continue;
      for (const CompletionQueue* q : w.queues) {
        for (const auto& [id, pair] : cards_.pairs()) {
          if (pair->send_cq != q && pair->receive_cq != q) continue;
          if (Found found = f(w, *q, *pair)) return found;
        }
      }
    }
    return std::nullopt;
  }

  const QueuePair* peer_of(const QueuePair& pair) const;
  bool is_waited_on(const QueuePair& pair) const;
  // The state of the queue pairs that matter.
  void add_pairs(CollectiveBlame& to) const;

  // Channels and events (hang_finder.cpp)
  Found not_acknowledged() const;
  Found lost_wakeup() const;
  Found not_armed() const;
  Found no_event() const;

  // Messages (hang_messages.cpp)
  Found stuck() const;
  // Receives are posted, or messages have come, and its state is one in which it takes none.
  Found not_ready() const;
  Found failed() const;
  Found dropped() const;
  Found taken_for_old() const;
  Found nobody_sends() const;
  std::string describe_receives(const QueuePair& pair) const;
  void describe_peer(const QueuePair& pair, const QueuePair& peer, std::string& sentence, std::string& look) const;
  void describe_no_peer(const QueuePair& pair, std::string& sentence, std::string& look) const;
  std::string describe_failure(const QueuePair& pair) const;

  // Completions (hang_completions.cpp)
  Found refused() const;
  Found never_signalled() const;
  Found plain_write() const;
  // Completions lie in a queue that no thread looks at.
  Found wrong_queue() const;
  Found nothing_posted() const;
  bool is_full(const QueuePair& pair) const;
  std::string describe_full(const QueuePair& pair) const;
  bool posts_to(const QueuePair& pair) const;
  static bool awaits_receive(const QueuePair& pair);
  // Nothing that is outstanding can complete there.
  bool is_dead(const CompletionQueue& q) const;

  const rdma::Cards& cards_;
  const Numbers& gone_;
  std::function<std::string(uint32_t)> name_of_;
  std::vector<Waiting> waiting_;
  std::vector<uint32_t> posting_;
};

}  // namespace fb::machine
