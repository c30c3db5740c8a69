#pragma once

// So many bytes may be under way at once: who wants to send more waits until the oldest have come back. This is what
// makes one multiprocessor slower than a link (Little's law: rate = bytes under way / round trip), and what keeps
// senders from running ahead of a link that is full.

#include <algorithm>
#include <cstdint>

#include "fabric/time.h"

namespace fb::fabric {

class FlowControl {
 public:
  // When `bytes` that want to leave at `at` can.
  Time enter(Time at, uint64_t bytes, uint64_t limit) {
    while (held_ + bytes > limit && count_ > 0) {
      const Batch& oldest = batches_[first_ % kBatches];
      room_from_ = std::max(room_from_, oldest.back);
      held_ -= oldest.bytes;
      ++first_;
      --count_;
    }
    return std::max(at, room_from_);
  }

  // They have entered and are back at `back`.
  void leave(Time back, uint64_t bytes, uint64_t limit);

 private:
  // Bytes are kept in batches of a sixteenth of the limit, so that few are enough.
  static constexpr uint32_t kBatches = 32;
  static constexpr uint64_t kParts = 16;

  struct Batch {
    Time back = 0;
    uint64_t bytes = 0;
  };
  uint64_t held_ = 0;
  Time room_from_ = 0;  // what is not held was under way until then
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  Batch batches_[kBatches];
};

}  // namespace fb::fabric
