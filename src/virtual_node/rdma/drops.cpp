// Messages that are dropped: what is kept of them, to explain hangs.

#include <algorithm>

#include "virtual_node/rdma/responder.h"

namespace fb::rdma {

void Responder::note_drop(QueuePair& at, const Message& message, Drop why) {
  ++at.past.drops;
  at.past.drop = why;
  at.past.drop_peer = message.from_number;
  at.past.drop_qkey = message.qkey;
}

void Responder::note_nowhere(const Message& message) {
  if (is_reliable(message.type)) return;
  constexpr size_t kMost = 32;
  const auto known = std::ranges::find_if(
      nowhere_, [&](const SentNowhere& s) { return s.number == message.from_number && s.to == message.to_number; });
  if (known != nowhere_.end()) {
    ++known->count;
  } else if (nowhere_.size() < kMost) {
    nowhere_.push_back({message.from_process, message.from_number, message.to_number, 1});
  }
}

}  // namespace fb::rdma
