#include "virtual_node/rdma/card_memory.h"

#include <algorithm>

namespace fb::rdma {
namespace {

bool contains(uint64_t begin, uint64_t size, uint64_t at, uint64_t bytes) {
  return at >= begin && bytes <= size && at - begin <= size - bytes;
}

}  // namespace

bool CardMemory::are_covered(const QueuePair& pair, std::span<const Piece> pieces, uint32_t rights) const {
  return std::ranges::all_of(pieces, [&](const Piece& piece) {
    if (piece.bytes == 0) return true;
    const Region* const r = objects_.region_of(piece.key);
    return r && r->domain == pair.domain && (r->access & rights) == rights &&
           contains(r->iova, r->bytes, piece.address, piece.bytes);
  });
}

bool CardMemory::gather(const QueuePair& pair, const SendWork& work, std::vector<std::byte>& into) {
  if ((work.flags & send_flags::inline_data) != 0) {
    into = work.inlined;
    return true;
  }
  if (!are_covered(pair, work.pieces, 0)) return false;
  for (const Piece& piece : work.pieces) {
    if (piece.bytes == 0) continue;
    const Region& r = *objects_.region_of(piece.key);
    const size_t begin = into.size();
    into.resize(begin + piece.bytes);
    around_.touches(pair.memory(), r.address + (piece.address - r.iova), piece.bytes,
                    {.role = Touch::Role::gather, .card = pair.card, .request = work.token, .receive = nullptr});
    if (!around_.read(pair.memory(), r.address + (piece.address - r.iova), std::span(into).subspan(begin)))
      return false;
  }
  return true;
}

bool CardMemory::scatter(const QueuePair& pair, std::span<const Piece> pieces, std::span<const std::byte> from,
                         const Touch& touch) {
  const size_t whole = from.size();
  if (!are_covered(pair, pieces, access::local_write)) return false;
  for (const Piece& piece : pieces) {
    if (from.empty()) break;
    if (piece.bytes == 0) continue;
    const Region& r = *objects_.region_of(piece.key);
    const size_t bytes = std::min<size_t>(piece.bytes, from.size());
    const uint64_t at = r.address + (piece.address - r.iova);
    around_.touches(pair.memory(), at, bytes,
                    {.role = touch.role,
                     .card = pair.card,
                     .request = touch.request,
                     .receive = touch.receive,
                     .relaxed = (r.access & access::relaxed_ordering) != 0,
                     .alone = bytes == whole});
    if (!around_.write(pair.memory(), at, from.first(bytes))) return false;
    from = from.subspan(bytes);
  }
  return from.empty();
}

bool CardMemory::reach(const QueuePair& pair, const Message& m, uint32_t right, uint64_t& at, bool& relaxed) const {
  if (m.bytes == 0) return true;
  if (const Region* const region = objects_.region_of(m.remote_key)) {
    const Region& r = *region;
    at = r.address + (m.remote_address - r.iova);
    relaxed = (r.access & access::relaxed_ordering) != 0;
    return r.domain == pair.domain && (r.access & right) != 0 && contains(r.iova, r.bytes, m.remote_address, m.bytes);
  }
  const Window* const window = objects_.window_of(m.remote_key);
  if (!window || !window->region) return false;
  const Window& w = *window;
  const uint64_t first = (w.access & access::zero_based) != 0 ? 0 : w.address;
  at = w.region->address + (w.address - w.region->iova) + (m.remote_address - first);
  relaxed = (w.region->access & access::relaxed_ordering) != 0;
  return w.domain == pair.domain && (w.type == 1 || w.bound_by == &pair) && (w.access & right) != 0 &&
         contains(first, w.bytes, m.remote_address, m.bytes);
}

bool CardMemory::is_on_device(const QueuePair& pair, std::span<const Piece> pieces) const {
  const auto piece = std::ranges::find_if(pieces, [](const Piece& p) { return p.bytes != 0; });
  if (piece == pieces.end()) return false;
  const Region* const r = objects_.region_of(piece->key);
  return r && around_.is_device_memory(pair.memory(), r->address + (piece->address - r->iova));
}

// Of a send it is asked when it leaves: the next receive is taken for the one that it will get.
bool CardMemory::lands_on_device(const Message& m) const {
  const QueuePair* const peer = m.payload.empty() ? nullptr : objects_.find_pair(m.to_card, m.to_number);
  if (!peer) return false;
  uint64_t at = 0;
  bool relaxed = false;
  if (m.opcode == Opcode::write || m.opcode == Opcode::write_immediate)
    return reach(*peer, m, access::remote_write, at, relaxed) && around_.is_device_memory(peer->memory(), at);
  const std::deque<ReceiveWork>& receives = peer->srq ? peer->srq->work : peer->receives;
  return !receives.empty() && is_on_device(*peer, receives.front().pieces);
}

void CardMemory::unbind(Window& window) {
  if (window.region) --window.region->users;
  window.region = nullptr;
  window.bound_by = nullptr;
  window.bytes = 0;
}

Status CardMemory::bind(const QueuePair& pair, const Bind& b) {
  Window* const window = objects_.find<Window>(b.window);
  if (!window || window->domain != pair.domain) return Status::bind;
  Window& w = *window;
  // The upper bytes of a key are the card's. A window of type 2 is bound once, and then invalidated.
  if ((b.key & ~0xffu) != (w.key & ~0xffu) || (w.type == 2 && w.region)) return Status::bind;
  Region* const region = objects_.find<Region>(b.region);
  if (b.bytes == 0 && w.type == 2) return Status::bind;
  if (b.bytes != 0) {
    const uint32_t needs_write = access::remote_write | access::remote_atomic;
    if (!region || region->domain != pair.domain || (region->access & access::bind) == 0 ||
        ((b.access & needs_write) != 0 && (region->access & access::local_write) == 0) ||
        !contains(region->iova, region->bytes, b.address, b.bytes))
      return Status::bind;
  }
  unbind(w);
  objects_.set_key(w, b.key);
  if (b.bytes == 0) return Status::success;  // type 1: unbound
  w.region = region;
  ++w.region->users;
  w.address = b.address;
  w.bytes = b.bytes;
  w.access = b.access;
  w.bound_by = w.type == 2 ? &pair : nullptr;
  return Status::success;
}

Status CardMemory::invalidate(const QueuePair& pair, uint32_t key) {
  Window* const window = objects_.window_of(key);
  if (!window) return Status::local_operation;
  Window& w = *window;
  if (w.type != 2 || w.domain != pair.domain || w.bound_by != &pair) return Status::local_operation;
  unbind(w);
  return Status::success;
}

}  // namespace fb::rdma
