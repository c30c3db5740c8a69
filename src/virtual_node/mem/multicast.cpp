#include "virtual_node/mem/multicast.h"

#include <algorithm>
#include <iterator>

namespace fb::mem {

const Multicast::Piece* Multicast::Member::piece_at(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(pieces, offset, {}, &Piece::offset);
  if (after == pieces.begin()) return nullptr;
  const Piece& p = *std::prev(after);
  return offset - p.offset < p.size ? &p : nullptr;
}

std::byte* Multicast::Member::find(uint64_t offset, uint64_t bytes) const {
  const Piece* p = piece_at(offset);
  return p && bytes <= p->size - (offset - p->offset) ? p->host + (offset - p->offset) : nullptr;
}

}  // namespace fb::mem
