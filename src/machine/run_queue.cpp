#include "machine/run_queue.h"

namespace fb::machine {

simt::Warp& RunQueue::pop() {
  const size_t k = choose(ready_.size());
  simt::Warp* warp = ready_[k];
  ready_[k] = ready_.front();
  ready_.pop_front();
  warp->queued = false;
  return *warp;
}

void RunQueue::clear() {
  for (simt::Warp* warp : ready_) warp->queued = false;
  ready_.clear();
}

}  // namespace fb::machine
