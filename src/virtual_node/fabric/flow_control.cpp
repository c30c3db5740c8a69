#include "virtual_node/fabric/flow_control.h"

namespace fb::fabric {

void FlowControl::leave(Time issued, Time back, uint64_t bytes, uint64_t limit) {
  held_ += bytes;
  if (count_ > 0) {
    Batch& last = batches_[(first_ + count_ - 1) % kBatches];
    if (last.bytes < limit / kParts) {
      last.bytes += bytes;
      if (back > last.back) {
        last.issued = issued;
        last.back = back;
      }
      return;
    }
  }
  // All but the last hold at least a sixteenth, and enter() keeps the sum below the limit.
  batches_[(first_ + count_) % kBatches] = {back, issued, bytes};
  ++count_;
}

}  // namespace fb::fabric
