#include "virtual_node/rdma/cards.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/base/hash.h"

namespace fb::rdma {
namespace {

uint32_t rounded_up(uint32_t count) { return std::bit_ceil(std::max(count, 1u)); }

template <class Table>
void erase(Table& table, const Object& object, std::map<uint32_t, uint32_t>& objects) {
  --objects[object.process];
  table.erase(object.id);
}

}  // namespace

Cards::Cards(Surroundings& surroundings, uint32_t cards, const CardLimits& limits, uint64_t secret)
    : around_(surroundings), count_(cards), limits_(limits), secret_(secret) {}

Cards::~Cards() = default;

template <>
Cards::Table<Domain>& Cards::table() {
  return domains_;
}
template <>
Cards::Table<XrcDomain>& Cards::table() {
  return xrc_domains_;
}
template <>
Cards::Table<Region>& Cards::table() {
  return regions_;
}
template <>
Cards::Table<Window>& Cards::table() {
  return windows_;
}
template <>
Cards::Table<Address>& Cards::table() {
  return addresses_;
}
template <>
Cards::Table<CompletionQueue>& Cards::table() {
  return completion_queues_;
}
template <>
Cards::Table<SharedReceiveQueue>& Cards::table() {
  return shared_;
}
template <>
Cards::Table<QueuePair>& Cards::table() {
  return pairs_;
}

template <class T>
T* Cards::find(uint32_t process, uint64_t id) {
  const auto found = table<T>().find(id);
  return found == table<T>().end() || found->second->process != process ? nullptr : found->second.get();
}
template Domain* Cards::find(uint32_t, uint64_t);
template XrcDomain* Cards::find(uint32_t, uint64_t);
template Region* Cards::find(uint32_t, uint64_t);
template Window* Cards::find(uint32_t, uint64_t);
template Address* Cards::find(uint32_t, uint64_t);
template CompletionQueue* Cards::find(uint32_t, uint64_t);
template SharedReceiveQueue* Cards::find(uint32_t, uint64_t);
template QueuePair* Cards::find(uint32_t, uint64_t);

template <class T>
T* Cards::add(T object) {
  if (objects_[object.process] >= limits_.objects) return nullptr;
  ++objects_[object.process];
  object.id = next_id_++;
  std::unique_ptr<T>& kept = table<T>()[object.id];
  kept = std::make_unique<T>(std::move(object));
  return kept.get();
}

// Those that xrc.cpp makes.
template XrcDomain* Cards::add(XrcDomain);
template QueuePair* Cards::add(QueuePair);

// The low byte is left to programs, which change it in windows of type 2.
uint32_t Cards::new_key() {
  for (;;) {
    const auto key = static_cast<uint32_t>(mix(secret_, next_key_++)) & ~0xffu;
    const auto is_taken = [&](const auto& table) {
      const auto next = table.lower_bound(key);
      return next != table.end() && (next->first & ~0xffu) == key;
    };
    if (key != 0 && !is_taken(region_by_key_) && !is_taken(window_by_key_)) return key;
  }
}

QueuePair* Cards::find_pair(uint32_t card, uint32_t number) const {
  const auto found = by_number_.find({card, number});
  return found == by_number_.end() ? nullptr : found->second;
}

QueuePair* Cards::alive(uint64_t id) const {
  const auto found = pairs_.find(id);
  return found == pairs_.end() ? nullptr : found->second.get();
}

// Making

int Cards::make_domain(uint32_t process, uint32_t card, Domain*& made) {
  if (card >= count_) return EINVAL;
  made = add(Domain{{.process = process, .card = card}});
  return made ? 0 : ENOMEM;
}

int Cards::make_region(Domain& domain, uint64_t address, uint64_t bytes, uint64_t iova, uint32_t flags, Region*& made) {
  const uint32_t rights = flags & ~access::optional;
  if (bytes == 0 || address + bytes < address || iova + bytes < iova || (rights & ~access::known) != 0) return EINVAL;
  if ((rights & (access::remote_write | access::remote_atomic)) != 0 && (rights & access::local_write) == 0)
    return EINVAL;
  Region region{{.process = domain.process, .card = domain.card}, &domain, address, bytes, iova, flags, new_key()};
  if ((rights & access::zero_based) != 0) region.iova = 0;
  made = add(region);
  if (!made) return ENOMEM;
  ++domain.users;
  region_by_key_[made->key] = made;
  return 0;
}

int Cards::make_window(Domain& domain, uint8_t type, Window*& made) {
  if (type != 1 && type != 2) return EINVAL;
  Window window{{.process = domain.process, .card = domain.card}};
  window.domain = &domain;
  window.type = type;
  window.key = new_key();
  made = add(window);
  if (!made) return ENOMEM;
  ++domain.users;
  window_by_key_[made->key] = made;
  return 0;
}

int Cards::make_address(Domain& domain, const Address& address, Address*& made) {
  Address copy = address;
  static_cast<Object&>(copy) = {.process = domain.process, .card = domain.card};
  copy.domain = &domain;
  made = add(copy);
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
  made = add(std::move(queue));
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
  made = add(std::move(queue));
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
  pair.number = new_number(domain.card);
  made = add(std::move(pair));
  if (!made) return ENOMEM;
  by_number_[{made->card, made->number}] = made;
  ++domain.users;
  ++made->send_cq->users;
  ++made->receive_cq->users;
  if (made->srq) ++made->srq->users;
  return 0;
}

uint32_t Cards::new_number(uint32_t card) {
  do {
    next_number_ = (next_number_ + 1) & kPsnMask;
  } while (next_number_ < 16 || by_number_.contains({card, next_number_}));
  return next_number_;
}

// Ending

int Cards::destroy(XrcDomain& domain) {
  if (domain.users != 0) return EBUSY;
  erase(xrc_domains_, domain, objects_);
  return 0;
}

int Cards::destroy(Domain& domain) {
  if (domain.users != 0) return EBUSY;
  erase(domains_, domain, objects_);
  return 0;
}

int Cards::destroy(Region& region) {
  if (region.users != 0) return EBUSY;
  --region.domain->users;
  region_by_key_.erase(region.key);
  erase(regions_, region, objects_);
  return 0;
}

int Cards::destroy(Window& window) {
  unbind(window);
  --window.domain->users;
  window_by_key_.erase(window.key);
  erase(windows_, window, objects_);
  return 0;
}

int Cards::destroy(Address& address) {
  --address.domain->users;
  erase(addresses_, address, objects_);
  return 0;
}

int Cards::destroy(CompletionQueue& queue) {
  if (queue.users != 0) return EBUSY;
  erase(completion_queues_, queue, objects_);
  return 0;
}

int Cards::destroy(SharedReceiveQueue& queue) {
  if (queue.users != 0) return EBUSY;
  for (auto& [id, pair] : pairs_) {
    if (pair->type == QpType::xrc_receive && pair->srq == &queue) forget_adopted(*pair);
  }
  --queue.domain->users;
  if (queue.xrc) --queue.xrc->users;
  if (queue.cq) --queue.cq->users;
  erase(shared_, queue, objects_);
  return 0;
}

int Cards::destroy(QueuePair& pair) {
  reset(pair);
  for (auto& [id, window] : windows_) {
    if (window->bound_by == &pair) unbind(*window);
  }
  if (pair.type == QpType::xrc_receive) {
    --pair.xrc->users;
  } else {
    --pair.domain->users;
    --pair.send_cq->users;
    --pair.receive_cq->users;
    if (pair.srq) --pair.srq->users;
  }
  by_number_.erase({pair.card, pair.number});
  erase(pairs_, pair, objects_);
  return 0;
}

void Cards::remove_process(uint32_t process) {
  const auto remove_all = [&](auto& table) {
    std::vector<uint64_t> ids;
    for (const auto& [id, object] : table) {
      if (object->process == process) ids.push_back(id);
    }
    for (const uint64_t id : ids) FB_CHECK(destroy(*table.at(id)) == 0);
  };
  // Queue pairs that others have opened stay.
  for (auto& [id, pair] : pairs_) {
    while (std::ranges::find(pair->openers, process, &QueuePair::Opener::process) != pair->openers.end() ||
           (pair->process == process && !pair->openers.empty()))
      close_opened(*pair, process);
  }
  remove_all(pairs_);
  remove_all(addresses_);
  remove_all(windows_);
  remove_all(regions_);
  remove_all(shared_);
  remove_all(completion_queues_);
  remove_all(xrc_domains_);
  remove_all(domains_);
}

std::vector<Cards::Stuck> Cards::stuck() const {
  std::vector<Stuck> found;
  for (const auto& [id, pair] : pairs_) {
    if (pair->starves_for_ever) {
      if (const QueuePair* sender = alive(pair->starved->sender)) {
        const auto entry = std::ranges::find(sender->sends, pair->starved->index, &SendEntry::index);
        found.push_back({sender, pair.get(), Stuck::Reason::no_receive, pair->starved->opcode,
                         entry == sender->sends.end() ? 0 : entry->work.id});
      }
    }
    if (pair->sends.empty()) continue;
    const SendEntry& first = pair->sends.front();
    if (first.waits_for_ever) {
      const QueuePair* peer = find_pair(pair->attributes.remote_card, pair->attributes.remote_number);
      found.push_back({pair.get(), peer, peer ? Stuck::Reason::peer_not_ready : Stuck::Reason::no_peer,
                       first.work.opcode, first.work.id});
    } else if (first.stage == SendEntry::Stage::queued && pair->state() != QpState::rts) {
      found.push_back({pair.get(), nullptr, Stuck::Reason::send_queue_stopped, first.work.opcode, first.work.id});
    }
  }
  return found;
}

}  // namespace fb::rdma
