#include "mem/multicast.h"

namespace fb::mem {

std::byte* Multicast::Member::find(uint64_t offset, uint64_t bytes) const {
  for (const Piece& p : pieces) {
    if (offset - p.offset < p.size && bytes <= p.size - (offset - p.offset)) return p.host + (offset - p.offset);
  }
  return nullptr;
}

}  // namespace fb::mem
