// XRC: queue pairs that only send or only receive, and shared receive queues that messages name themselves.

#include <algorithm>
#include <cerrno>

#include "virtual_node/rdma/cards.h"

namespace fb::rdma {

int Cards::make_xrc_domain(uint32_t process, uint32_t card, uint64_t identity, XrcDomain*& made) {
  if (card >= count_) return EINVAL;
  XrcDomain domain{{.process = process, .card = card}, identity};
  made = objects_.add(domain);
  if (!made) return ENOMEM;
  // No file has such a number.
  if (identity == 0) made->identity = made->id | uint64_t{1} << 63;
  return 0;
}

bool Cards::is_known_xrc(uint32_t card, uint64_t identity) const {
  return std::ranges::any_of(objects_.all<XrcDomain>(), [&](const auto& entry) {
    return entry.second->card == card && entry.second->identity == identity;
  });
}

int Cards::make_xrc_target(XrcDomain& xrc, QueuePair*& made) {
  QueuePair pair;
  static_cast<Object&>(pair) = {.process = xrc.process, .card = xrc.card};
  pair.type = QpType::xrc_receive;
  pair.xrc = &xrc;
  pair.attributes.path_mtu = limits_.mtu;
  pair.number = objects_.new_number(xrc.card);
  made = objects_.add(std::move(pair));
  if (!made) return ENOMEM;
  ++xrc.users;
  return 0;
}

int Cards::open_xrc_target(XrcDomain& xrc, uint32_t number, QueuePair*& opened) {
  QueuePair* const pair = objects_.find_pair(xrc.card, number);
  if (!pair || pair->type != QpType::xrc_receive || pair->xrc->identity != xrc.identity) return EINVAL;
  constexpr size_t kMostOpeners = 1024;
  if (pair->openers.size() >= kMostOpeners) return ENOMEM;
  pair->openers.push_back({xrc.process, &xrc});
  ++xrc.users;
  opened = pair;
  return 0;
}

bool Cards::close_opened(QueuePair& pair, uint32_t process) {
  const auto own = std::ranges::find(pair.openers, process, &QueuePair::Opener::process);
  if (own != pair.openers.end()) {
    --own->xrc->users;
    pair.openers.erase(own);
    return true;
  }
  if (pair.process != process || pair.openers.empty()) return false;
  // It belongs to the next one then.
  const QueuePair::Opener next = pair.openers.front();
  pair.openers.erase(pair.openers.begin());
  --pair.xrc->users;
  objects_.give(pair, next.process);
  pair.xrc = next.xrc;
  return true;
}

QueuePair* Cards::find_queue_pair(uint32_t process, uint64_t id) const {
  QueuePair* const pair = objects_.find<QueuePair>(id);
  if (!pair) return nullptr;
  const bool opened = std::ranges::find(pair->openers, process, &QueuePair::Opener::process) != pair->openers.end();
  return opened || pair->process == process ? pair : nullptr;
}

}  // namespace fb::rdma
