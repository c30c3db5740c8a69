#pragma once

#include "virtual_node/rdma/objects.h"

namespace fb::rdma {

// What both sides of a queue pair do to it as a whole.
class PairStates {
 public:
  virtual void enter_error(QueuePair& pair, const Failure& why) = 0;
  // Everything that is queued completes in error: sends, then, unless only the send queue has stopped, receives.
  virtual void flush(QueuePair& pair) = 0;

 protected:
  ~PairStates() = default;
};

}  // namespace fb::rdma
