// Cards: opened once, for all identifiers of the process.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "common/wire/identity.h"
#include "ranks/shim/rdmacm/ids.h"

namespace fb::shim::rdmacm {
namespace {

struct Cards {
  std::vector<ibv_device*> devices;
  std::vector<std::unique_ptr<Card>> open;  // null: not yet
};

Cards& cards() {
  static auto* const all = [] {
    auto* const made = new Cards;
    int count = 0;
    // The list is kept: contexts refer to what is in it.
    ibv_device** const list = ibv_get_device_list(&count);
    for (int k = 0; list && k < count; ++k) made->devices.push_back(list[k]);
    made->open.resize(made->devices.size());
    return made;
  }();
  return *all;
}

Card* open_card(size_t number) {
  Cards& all = cards();
  if (all.open[number]) return all.open[number].get();
  auto card = std::make_unique<Card>();
  card->verbs = ibv_open_device(all.devices[number]);
  if (!card->verbs) return nullptr;
  ibv_device_attr facts{};
  ibv_query_device(card->verbs, &facts);
  card->reads = static_cast<uint8_t>(std::min(facts.max_qp_rd_atom, 255));
  ibv_query_port(card->verbs, 1, &card->port);
  ibv_query_gid(card->verbs, 1, 0, &card->gid);
  all.open[number] = std::move(card);
  return all.open[number].get();
}

}  // namespace

bool has_cards() { return !cards().devices.empty(); }

Card* take_card() {
  const size_t count = cards().devices.size();
  if (count == 0) {
    errno = ENODEV;
    return nullptr;
  }
  // A rank's GPU is that of its number on the node, and cards are beside GPUs.
  const int local = wire::hello_of_this_thread().local_rank;
  Card* const card = open_card(local > 0 ? static_cast<size_t>(local) % count : 0);
  if (!card) return nullptr;
  if (!card->pd) card->pd = ibv_alloc_pd(card->verbs);
  if (!card->pd) return nullptr;
  ++card->users;
  return card;
}

void leave_card(Card& card) {
  if (--card.users != 0) return;
  // A domain in which the program still has objects stays.
  if (ibv_dealloc_pd(card.pd) == 0) card.pd = nullptr;
  if (card.xrcd && ibv_close_xrcd(card.xrcd) == 0) card.xrcd = nullptr;
}

ibv_xrcd* domain_of_xrc(Card& card) {
  if (card.xrcd) return card.xrcd;
  ibv_xrcd_init_attr init{};
  init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  init.fd = -1;
  init.oflags = O_CREAT;
  return card.xrcd = ibv_open_xrcd(card.verbs, &init);
}

}  // namespace fb::shim::rdmacm

using namespace fb::shim::rdmacm;

FB_RDMACM ibv_context** rdma_get_devices(int* count) {
  const Lock lock(mutex());
  const size_t found = cards().devices.size();
  if (count) *count = 0;
  if (found == 0) {
    errno = ENODEV;
    return nullptr;
  }
  auto** const list = static_cast<ibv_context**>(std::calloc(found + 1, sizeof(ibv_context*)));
  if (!list) return nullptr;
  for (size_t k = 0; k < found; ++k) {
    Card* const card = open_card(k);
    if (!card) {
      std::free(list);
      return nullptr;
    }
    list[k] = card->verbs;
  }
  if (count) *count = static_cast<int>(found);
  return list;
}

FB_RDMACM void rdma_free_devices(ibv_context** list) { std::free(list); }
