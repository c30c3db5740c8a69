#pragma once

// The sending side of queue pairs: posting, serving the send queue, retries, completions in order.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "virtual_node/rdma/card_memory.h"
#include "virtual_node/rdma/completion_queues.h"
#include "virtual_node/rdma/object_table.h"
#include "virtual_node/rdma/pair_states.h"
#include "virtual_node/rdma/surroundings.h"

namespace fb::rdma {

using MessagePtr = std::shared_ptr<const Message>;

// Where messages go.
class Delivery {
 public:
  // The payload lands between the arrival of its first byte and that of its last, when arrive() is called.
  virtual void expect(const std::shared_ptr<Message>& message, Time first, Time last) = 0;
  virtual void arrive(const MessagePtr& message) = 0;
  // For reports: there is no queue pair that it is for.
  virtual void note_nowhere(const Message& message) = 0;

 protected:
  ~Delivery() = default;
};

class Requester {
 public:
  struct Parts {
    ObjectTable& objects;
    CardMemory& memory;
    CompletionQueues& completions;
    Surroundings& around;
    PairStates& states;
    Delivery& delivery;
  };
  Requester(const Parts& parts, uint64_t longest_message)
      : objects_(parts.objects),
        memory_(parts.memory),
        completions_(parts.completions),
        around_(parts.around),
        states_(parts.states),
        delivery_(parts.delivery),
        longest_message_(longest_message) {}

  // A number of errno, 0: done.
  int post(QueuePair& pair, SendWork work);
  // All of them or none.
  int post(QueuePair& pair, std::vector<SendWork> batch);
  // After a change of its state.
  void go_on(QueuePair& pair);
  void complete(QueuePair& pair, const SendEntry& entry);

  // What becomes of a message that was sent.
  // The pair's entry; null: it is over, or has been sent again.
  SendEntry* entry_of(const MessagePtr& message, QueuePair*& pair) const;
  // It has not been sent again, nor has its queue pair been reset.
  bool is_current(const Message& message) const;
  // Nothing will be heard of it; its sender notices by a timer.
  void lost(const MessagePtr& message);
  // The responder has no receive for it; the sender tries again after the responder's timer.
  void receiver_not_ready(const MessagePtr& message, Time retry_after);
  // The responder has told which packet it expects.
  void out_of_sequence(const MessagePtr& message, uint32_t expected);
  void acknowledge(const MessagePtr& message, Status status, std::span<const std::byte> data);
  // Everything from this one on is sent again.
  void go_back(QueuePair& pair, uint64_t index);

 private:
  // `ahead`: work that would be posted before it.
  static int check(const QueuePair& pair, const SendWork& work, uint64_t ahead = 0);
  void serve_soon(QueuePair& pair);
  void serve(QueuePair& pair);
  static bool may_send(const QueuePair& pair, const SendEntry& entry);
  static SendEntry* next_to_send(QueuePair& pair);
  void launch(QueuePair& pair, SendEntry& entry);
  // Whether nothing is left to be done for this attempt.
  std::function<bool()> settled(const MessagePtr& message) const;
  void settle(QueuePair& pair, SendEntry& entry, Status status);
  void retire(QueuePair& pair);
  void note_drained(QueuePair& pair);

  ObjectTable& objects_;
  CardMemory& memory_;
  CompletionQueues& completions_;
  Surroundings& around_;
  PairStates& states_;
  Delivery& delivery_;
  const uint64_t longest_message_;
  // Bytes of payload that messages hold. Those that outlive the cards still count.
  std::shared_ptr<uint64_t> under_way_ = std::make_shared<uint64_t>(0);
};

}  // namespace fb::rdma
