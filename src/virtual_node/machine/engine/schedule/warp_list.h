#pragma once

// Ready warps in order of arrival, from which any may be drawn.

#include <cstddef>
#include <deque>
#include <vector>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

class WarpList {
 public:
  bool empty() const { return warps_.empty(); }
  size_t size() const { return warps_.size(); }
  auto begin() const { return warps_.begin(); }
  auto end() const { return warps_.end(); }

  void push(simt::Warp& warp) { warps_.push_back(&warp); }
  // Takes out the k-th in constant time: the first takes its position.
  simt::Warp& take(size_t k) {
    simt::Warp& warp = *warps_[k];
    warps_[k] = warps_.front();
    warps_.pop_front();
    warp.queued = false;
    return warp;
  }
  void take(simt::Warp& warp) {
    std::erase(warps_, &warp);
    warp.queued = false;
  }
  void remove(const simt::Grid& grid) {
    std::erase_if(warps_, [&](simt::Warp* w) {
      if (&w->block().grid() != &grid) return false;
      w->queued = false;
      return true;
    });
  }

 private:
  std::deque<simt::Warp*> warps_;
};

}  // namespace fb::machine
