#pragma once

// The receiving side of queue pairs. The order of its checks is that of the specification: sequence, rights of the
// queue pair, a receive, lengths, keys and ranges; then it executes, completes and acknowledges.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/rdma/requester.h"

namespace fb::rdma {

class Responder final : public Delivery {
 public:
  struct Parts {
    ObjectTable& objects;
    CardMemory& memory;
    CompletionQueues& completions;
    Requester& requester;
    Surroundings& around;
    PairStates& states;
  };
  Responder(const Parts& parts, uint32_t most_reads)
      : objects_(parts.objects),
        memory_(parts.memory),
        completions_(parts.completions),
        requester_(parts.requester),
        around_(parts.around),
        states_(parts.states),
        most_reads_(most_reads) {}

  void expect(const std::shared_ptr<Message>& message, Time first, Time last) override;
  void arrive(const MessagePtr& message) override;

  // Numbers of errno, 0: done.
  int post(QueuePair& pair, ReceiveWork work);
  int post(SharedReceiveQueue& queue, ReceiveWork work);

  // The message that waits for a receive goes: its sender will hear nothing, but one that was told to try again does.
  void abandon_starved(QueuePair& pair);
  // XRC: what the last message has named is no more.
  void forget_adopted(QueuePair& pair);

  // For reports: messages that were not delivered.
  void note_nowhere(const Message& message) override;
  const std::vector<SentNowhere>& sent_nowhere() const { return nowhere_; }

 private:
  // Landing (landing.cpp)
  void land_part(const MessagePtr& message, uint32_t part);
  void tell_landing(const QueuePair& pair, const Message& message, uint64_t at, bool relaxed);
  bool write_part(const QueuePair& pair, const Message& message, uint32_t part, uint64_t at);
  bool land_rest(const QueuePair& pair, const Message& message, uint64_t at);

  // Whether nothing but its key can keep the pair from executing a write that is arriving.
  static bool would_take(const QueuePair& pair, const Message& message);
  void arrive_reliable(QueuePair& pair, const MessagePtr& message);
  void arrive_unreliable(QueuePair& pair, const MessagePtr& message);
  // XRC: what the message names. False: there is none.
  bool adopt(QueuePair& pair, const Message& message);
  void repeat(QueuePair& pair, const MessagePtr& message);
  void answer(QueuePair& pair, const MessagePtr& message, Status status, std::vector<std::byte> data);
  Status execute(QueuePair& pair, const Message& message, std::vector<std::byte>& data);
  static void note_drop(QueuePair& at, const Message& message, Drop why);

  ReceiveWork take_receive(QueuePair& pair);
  // Into the next receive of the pair, which completes.
  Status receive(QueuePair& pair, const Message& message);
  void starve(QueuePair& pair, const MessagePtr& message);
  static void forget_starved(QueuePair& pair);
  void feed(QueuePair& pair);

  ObjectTable& objects_;
  CardMemory& memory_;
  CompletionQueues& completions_;
  Requester& requester_;
  Surroundings& around_;
  PairStates& states_;
  const uint32_t most_reads_;
  std::vector<SentNowhere> nowhere_;  // the first few
};

}  // namespace fb::rdma
