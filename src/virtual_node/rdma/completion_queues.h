#pragma once

#include <cstdint>
#include <vector>

#include "virtual_node/rdma/object_table.h"
#include "virtual_node/rdma/pair_states.h"
#include "virtual_node/rdma/surroundings.h"

namespace fb::rdma {

class CompletionQueues {
 public:
  CompletionQueues(ObjectTable& objects, Surroundings& surroundings, PairStates& states)
      : objects_(objects), around_(surroundings), states_(states) {}

  // An overrun breaks the queue, and then the queue pairs that use it.
  void push(CompletionQueue& queue, const Completion& entry, bool solicited);
  // At most `most` entries, the oldest ones; -1: the queue was overrun.
  int poll(CompletionQueue& queue, uint32_t most, std::vector<Completion>& into);
  void arm(CompletionQueue& queue, bool solicited_only);

 private:
  ObjectTable& objects_;
  Surroundings& around_;
  PairStates& states_;
};

}  // namespace fb::rdma
