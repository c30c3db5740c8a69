#include "virtual_node/simt/async/async.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "virtual_node/simt/async/mbarrier_memory.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/shared_ref.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

template <class F>
void each(Mask lanes, F f) {
  for (Mask m = lanes; m != 0; m &= m - 1) f(static_cast<uint32_t>(std::countr_zero(m)));
}

AsyncGroups& groups_of(Warp& w, GroupKind kind, uint32_t lane) { return w.block().async_groups(kind, w.index(), lane); }

void pop_done(AsyncGroups& groups) {
  while (!groups.committed.empty() && groups.committed.front().pending == 0) groups.committed.pop_front();
}

void arrive_now(const AsyncGroups::Arrival& a, uint32_t lane) {
  if (Listener* listener = a.owner->listener())
    listener->on_copies_arrive(*a.warp, lane, a.before, *a.owner, a.mbarrier);
  arrive_at(*a.owner, a.mbarrier, *a.inst, lane);
}

void account(AsyncGroups& groups, const AsyncCopy& copy, uint32_t lane) {
  --groups.outstanding;
  if (groups.open.id == copy.group) {
    --groups.open.pending;
  } else {
    for (auto& g : groups.committed) {
      if (g.id == copy.group) --g.pending;
    }
  }
  pop_done(groups);
  for (auto& a : groups.arrivals) {
    if (copy.sequence < a.before && --a.remaining == 0) arrive_now(a, lane);
  }
  std::erase_if(groups.arrivals, [](const AsyncGroups::Arrival& a) { return a.remaining == 0; });
}

}  // namespace

void complete(const AsyncCopy& copy) {
  Listener* listener = copy.block->listener();
  if (listener) listener->on_copy_begin(copy);
  copy.perform();
  if (copy.kind != GroupKind::none)
    each(copy.lanes, [&](uint32_t lane) { account(groups_of(*copy.warp, copy.kind, lane), copy, lane); });
  if (listener) listener->on_copy_end(copy);
  if (copy.kind == GroupKind::none) return;
  copy.warp->release(SplitState::async);
}

namespace {

void start(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, AsyncCopy copy) {
  copy.inst = &i;
  copy.block = &w.block();
  copy.other = other == &w.block() ? nullptr : other;
  copy.warp = &w;
  copy.kind = kind;
  copy.lanes = lanes;
  copy.sequence = w.block().next_copy++;
  if (kind != GroupKind::none) {
    each(lanes, [&](uint32_t lane) {
      AsyncGroups& groups = groups_of(w, kind, lane);
      copy.group = groups.open.id;
      ++groups.open.pending;
      ++groups.outstanding;
    });
  }
  w.note_effect();
  w.note_change();
  if (w.listener()) w.listener()->on_copy_issue(copy);
  w.environment().start(std::move(copy));
}

}  // namespace

void start_copy(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, uint64_t bytes,
                std::function<void()> perform) {
  start(w, i, lanes, kind, other, {.perform = std::move(perform), .bytes = bytes});
}

void start_product(Warp& w, const Inst& i, Mask lanes, GroupKind kind, Block* other, uint64_t bytes,
                   const Product& product) {
  start(w, i, lanes, kind, other, {.perform = [] {}, .bytes = bytes, .product = product});
}

void start_behind_products(Warp& w, const Inst& i, Mask lanes, Block* other, std::function<void()> perform) {
  start(w, i, lanes, GroupKind::none, other, {.perform = std::move(perform), .behind_products = true});
}

Mask same_group(Warp& w, GroupKind kind, Mask lanes) {
  const uint32_t id = groups_of(w, kind, static_cast<uint32_t>(std::countr_zero(lanes))).open.id;
  Mask same = 0;
  each(lanes, [&](uint32_t lane) { same |= Mask{groups_of(w, kind, lane).open.id == id} << lane; });
  return same;
}

void commit_group(Warp& w, GroupKind kind, Mask lanes, Mask told) {
  each(lanes, [&](uint32_t lane) {
    AsyncGroups& groups = groups_of(w, kind, lane);
    groups.committed.push_back(std::exchange(groups.open, {groups.next_id++, 0}));
    pop_done(groups);
  });
  w.note_effect();
  if (w.listener())
    w.listener()->on_sync(w, {SyncKind::async_commit, MemoryOrder::weak, Scope::cta, group_word(kind, 0),
                              told != 0 ? told : lanes, nullptr});
}

bool must_wait(Warp& w, GroupKind kind, Mask lanes, uint32_t newest) {
  bool waits = false;
  // The oldest committed group is pending, so it alone decides.
  each(lanes, [&](uint32_t lane) { waits |= groups_of(w, kind, lane).committed.size() > newest; });
  return waits;
}

void tell_waited(Warp& w, const Inst& i, GroupKind kind, uint32_t newest) {
  if (!w.listener()) return;
  w.listener()->on_sync(w, {SyncKind::async_wait, MemoryOrder::weak, Scope::cta, group_word(kind, newest), w.exec, &i});
}

void arrive_after_copies(Warp& w, const Inst& i, uint32_t lane, const SharedRef& mbarrier) {
  AsyncGroups& groups = groups_of(w, GroupKind::plain, lane);
  w.note_effect();
  const AsyncGroups::Arrival arrival{w.block().next_copy, groups.outstanding, mbarrier.host, mbarrier.owner, &i, &w};
  if (groups.outstanding == 0) return arrive_now(arrival, lane);
  groups.arrivals.push_back(arrival);
}

}  // namespace fb::simt
