#include "mem/multicast.h"

namespace fb::mem {

const Multicast::Piece* Multicast::Member::piece_at(uint64_t offset) const {
  for (const Piece& p : pieces) {
    if (offset - p.offset < p.size) return &p;
  }
  return nullptr;
}

std::byte* Multicast::Member::find(uint64_t offset, uint64_t bytes) const {
  const Piece* p = piece_at(offset);
  return p && bytes <= p->size - (offset - p->offset) ? p->host + (offset - p->offset) : nullptr;
}

}  // namespace fb::mem
