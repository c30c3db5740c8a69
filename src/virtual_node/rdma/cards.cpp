#include "virtual_node/rdma/cards.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "common/base/check.h"

namespace fb::rdma {
namespace {

uint32_t rounded_up(uint32_t count) { return std::bit_ceil(std::max(count, 1u)); }

}  // namespace

Cards::Cards(Surroundings& surroundings, uint32_t cards, const CardLimits& limits, uint64_t secret)
    : around_(surroundings),
      count_(cards),
      limits_(limits),
      objects_(limits.objects, secret),
      memory_(objects_, surroundings),
      completions_(objects_, surroundings, *this),
      responder_({objects_, memory_, completions_, requester_, surroundings, *this}, limits.reads),
      requester_({objects_, memory_, completions_, surroundings, *this, responder_}, limits.message) {}

// Making

int Cards::make_domain(uint32_t process, uint32_t card, Domain*& made) {
  if (card >= count_) return EINVAL;
  made = objects_.add(Domain{{.process = process, .card = card}});
  return made ? 0 : ENOMEM;
}

int Cards::make_region(Domain& domain, uint64_t address, uint64_t bytes, uint64_t iova, uint32_t flags, Region*& made) {
  const uint32_t rights = flags & ~access::optional;
  if (bytes == 0 || address + bytes < address || iova + bytes < iova || (rights & ~access::known) != 0) return EINVAL;
  if ((rights & (access::remote_write | access::remote_atomic)) != 0 && (rights & access::local_write) == 0)
    return EINVAL;
  Region region{
      {.process = domain.process, .card = domain.card}, &domain, address, bytes, iova, flags, objects_.new_key()};
  if ((rights & access::zero_based) != 0) region.iova = 0;
  made = objects_.add(region);
  if (!made) return ENOMEM;
  ++domain.users;
  return 0;
}

int Cards::make_window(Domain& domain, uint8_t type, Window*& made) {
  if (type != 1 && type != 2) return EINVAL;
  Window window{{.process = domain.process, .card = domain.card}};
  window.domain = &domain;
  window.type = type;
  window.key = objects_.new_key();
  made = objects_.add(window);
  if (!made) return ENOMEM;
  ++domain.users;
  return 0;
}

int Cards::make_address(Domain& domain, const Address& address, Address*& made) {
  Address copy = address;
  static_cast<Object&>(copy) = {.process = domain.process, .card = domain.card};
  copy.domain = &domain;
  made = objects_.add(copy);
  if (!made) return ENOMEM;
  ++domain.users;
  return 0;
}

int Cards::make_completion_queue(uint32_t process, uint32_t card, uint32_t entries, CompletionQueue*& made) {
  if (card >= count_ || entries == 0 || entries > limits_.completions) return EINVAL;
  CompletionQueue queue;
  queue.process = process;
  queue.card = card;
  queue.capacity = rounded_up(entries + 1) - 1;  // one of a power of two is kept free
  made = objects_.add(std::move(queue));
  return made ? 0 : ENOMEM;
}

int Cards::resize(CompletionQueue& queue, uint32_t entries) {
  if (entries == 0 || entries > limits_.completions || entries < queue.entries.size()) return EINVAL;
  queue.capacity = rounded_up(entries + 1) - 1;
  return 0;
}

int Cards::make_shared_receive_queue(Domain& domain, uint32_t work, uint32_t pieces, SharedReceiveQueue*& made,
                                     XrcDomain* xrc, CompletionQueue* cq) {
  if (work == 0 || work > limits_.work_requests || pieces > limits_.pieces) return EINVAL;
  if ((xrc == nullptr) != (cq == nullptr)) return EINVAL;
  if (xrc && (xrc->process != domain.process || xrc->card != domain.card || cq->process != domain.process ||
              cq->card != domain.card))
    return EINVAL;
  SharedReceiveQueue queue;
  queue.number = ++next_srq_ & kPsnMask;
  queue.xrc = xrc;
  queue.cq = cq;
  queue.process = domain.process;
  queue.card = domain.card;
  queue.domain = &domain;
  queue.capacity = rounded_up(work + 1) - 1;
  queue.pieces = rounded_up(pieces);
  made = objects_.add(std::move(queue));
  if (!made) return ENOMEM;
  ++domain.users;
  if (xrc) ++xrc->users;
  if (cq) ++cq->users;
  return 0;
}

int Cards::set_limit(SharedReceiveQueue& queue, uint32_t limit) {
  if (limit > queue.capacity) return EINVAL;
  queue.limit = limit;
  if (queue.work.size() < limit) {
    queue.limit = 0;
    ++queue.past.limits_told;
    around_.happened(AsyncEvent::srq_limit_reached, queue);
  }
  return 0;
}

int Cards::make_queue_pair(Domain& domain, const QueuePair& wanted, QueuePair*& made) {
  const bool xrc = wanted.type == QpType::xrc_send;
  if (!xrc && wanted.type != QpType::rc && wanted.type != QpType::uc && wanted.type != QpType::ud) return EOPNOTSUPP;
  const QpLimits& asked = wanted.limits;
  // A sending queue pair of XRC receives nothing.
  const CompletionQueue* const receive_cq = xrc ? wanted.send_cq : wanted.receive_cq;
  if (!wanted.send_cq || !receive_cq || (xrc && (wanted.srq || asked.receives != 0))) return EINVAL;
  if (wanted.send_cq->process != domain.process || receive_cq->process != domain.process) return EINVAL;
  if (wanted.srq && (wanted.srq->domain != &domain || wanted.type == QpType::uc || wanted.srq->xrc)) return EINVAL;
  if (wanted.send_cq->card != domain.card || receive_cq->card != domain.card) return EINVAL;
  if (asked.sends > limits_.work_requests || asked.receives > limits_.work_requests ||
      asked.send_pieces > limits_.pieces || asked.receive_pieces > limits_.pieces ||
      asked.inline_bytes > limits_.inline_bytes)
    return EINVAL;
  QueuePair pair;
  static_cast<Object&>(pair) = {.process = domain.process, .card = domain.card};
  pair.type = wanted.type;
  pair.send_cq = wanted.send_cq;
  pair.receive_cq = xrc ? wanted.send_cq : wanted.receive_cq;
  pair.srq = wanted.srq;
  pair.limits = asked;
  pair.signals_all = wanted.signals_all;
  pair.domain = &domain;
  pair.attributes.path_mtu = limits_.mtu;
  pair.limits.sends = asked.sends == 0 ? 0 : rounded_up(asked.sends);
  pair.limits.receives = pair.srq || asked.receives == 0 ? 0 : rounded_up(asked.receives);
  pair.limits.send_pieces = std::max(asked.send_pieces, 1u);
  pair.limits.receive_pieces = pair.srq ? 0 : std::max(asked.receive_pieces, 1u);
  pair.number = objects_.new_number(domain.card);
  made = objects_.add(std::move(pair));
  if (!made) return ENOMEM;
  ++domain.users;
  ++made->send_cq->users;
  ++made->receive_cq->users;
  if (made->srq) ++made->srq->users;
  return 0;
}

// Ending

int Cards::destroy(XrcDomain& domain) {
  if (domain.users != 0) return EBUSY;
  objects_.erase(domain);
  return 0;
}

int Cards::destroy(Domain& domain) {
  if (domain.users != 0) return EBUSY;
  objects_.erase(domain);
  return 0;
}

int Cards::destroy(Region& region) {
  if (region.users != 0) return EBUSY;
  --region.domain->users;
  objects_.erase(region);
  return 0;
}

int Cards::destroy(Window& window) {
  CardMemory::unbind(window);
  --window.domain->users;
  objects_.erase(window);
  return 0;
}

int Cards::destroy(Address& address) {
  --address.domain->users;
  objects_.erase(address);
  return 0;
}

int Cards::destroy(CompletionQueue& queue) {
  if (queue.users != 0) return EBUSY;
  objects_.erase(queue);
  return 0;
}

int Cards::destroy(SharedReceiveQueue& queue) {
  if (queue.users != 0) return EBUSY;
  for (const auto& [id, pair] : pairs()) {
    if (pair->type == QpType::xrc_receive && pair->srq == &queue) responder_.forget_adopted(*pair);
  }
  --queue.domain->users;
  if (queue.xrc) --queue.xrc->users;
  if (queue.cq) --queue.cq->users;
  objects_.erase(queue);
  return 0;
}

int Cards::destroy(QueuePair& pair) {
  reset(pair);
  for (const auto& [id, window] : objects_.all<Window>()) {
    if (window->bound_by == &pair) CardMemory::unbind(*window);
  }
  if (pair.type == QpType::xrc_receive) {
    --pair.xrc->users;
  } else {
    --pair.domain->users;
    --pair.send_cq->users;
    --pair.receive_cq->users;
    if (pair.srq) --pair.srq->users;
  }
  objects_.erase(pair);
  return 0;
}

void Cards::remove_process(uint32_t process) {
  const auto remove_all = [&](const auto& table) {
    std::vector<uint64_t> ids;
    for (const auto& [id, object] : table) {
      if (object->process == process) ids.push_back(id);
    }
    for (const uint64_t id : ids) FB_CHECK(destroy(*table.at(id)) == 0);
  };
  // Queue pairs that others have opened stay.
  for (const auto& [id, pair] : pairs()) {
    while (std::ranges::find(pair->openers, process, &QueuePair::Opener::process) != pair->openers.end() ||
           (pair->process == process && !pair->openers.empty()))
      close_opened(*pair, process);
  }
  remove_all(objects_.all<QueuePair>());
  remove_all(objects_.all<Address>());
  remove_all(objects_.all<Window>());
  remove_all(objects_.all<Region>());
  remove_all(objects_.all<SharedReceiveQueue>());
  remove_all(objects_.all<CompletionQueue>());
  remove_all(objects_.all<XrcDomain>());
  remove_all(objects_.all<Domain>());
}

std::vector<Cards::Stuck> Cards::stuck() const {
  std::vector<Stuck> found;
  for (const auto& [id, pair] : pairs()) {
    if (pair->starves_for_ever) {
      if (const QueuePair* sender = objects_.find<QueuePair>(pair->starved->sender)) {
        const auto entry = std::ranges::find(sender->sends, pair->starved->index, &SendEntry::index);
        found.push_back({sender, pair.get(), Stuck::Reason::no_receive, pair->starved->opcode,
                         entry == sender->sends.end() ? 0 : entry->work.id});
      }
    }
    if (pair->sends.empty()) continue;
    const SendEntry& first = pair->sends.front();
    if (first.waits_for_ever) {
      const QueuePair* peer = objects_.find_pair(pair->attributes.remote_card, pair->attributes.remote_number);
      found.push_back({pair.get(), peer, peer ? Stuck::Reason::peer_not_ready : Stuck::Reason::no_peer,
                       first.work.opcode, first.work.id});
    } else if (first.stage == SendEntry::Stage::queued && pair->state() != QpState::rts) {
      found.push_back({pair.get(), nullptr, Stuck::Reason::send_queue_stopped, first.work.opcode, first.work.id});
    }
  }
  return found;
}

}  // namespace fb::rdma
