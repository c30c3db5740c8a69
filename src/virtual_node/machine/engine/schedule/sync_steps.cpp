#include "virtual_node/machine/engine/schedule/sync_steps.h"

#include <bit>
#include <utility>

namespace fb::machine {

using simt::AccessKind;
using simt::SyncKind;

void SyncSteps::stop(simt::Warp& warp) {
  due_ = true;
  warp.preempt();
}

void SyncSteps::count(simt::Warp& warp) {
  if (++count_ == stop_at_) stop(warp);
}

void SyncSteps::take(simt::Warp& warp, const simt::Access& access) {
  if (!is_strong(access.order) || access.lanes == 0) return;
  count(warp);
  if (!each_) return;
  Poll poll;
  if (access.kind == AccessKind::load)
    poll = {&warp, access.inst, access.addresses[std::countr_zero(access.lanes)], access.lanes};
  const bool again = poll.warp != nullptr && poll == poll_;
  poll_ = poll;
  if (!again) stop(warp);
}

void SyncSteps::take(simt::Warp& warp, const simt::Sync& sync) {
  switch (sync.kind) {
    case SyncKind::fence:
    case SyncKind::block_arrive:
    case SyncKind::cluster_arrive:
      return count(warp);  // a fence has no visible effect; a warp that waits at a barrier stops anyway
    case SyncKind::mbarrier_arrive:
      count(warp);
      poll_ = {};
      if (each_) stop(warp);
      return;
    case SyncKind::mbarrier_wait: {
      count(warp);
      const Poll poll{&warp, sync.inst, sync.id, sync.lanes};
      if (poll == std::exchange(poll_, poll)) return;
      if (each_) stop(warp);
      return;
    }
    default:
      return;  // within one warp, or counted by an arrival
  }
}

bool SyncSteps::take_due() { return std::exchange(due_, false); }

}  // namespace fb::machine
