#pragma once

// Ready warps by a key, smallest first; equal keys in order of arrival.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

class WarpHeap {
 public:
  bool empty() const { return heap_.empty(); }
  uint64_t front_key() const { return heap_.front().key; }

  void push(uint64_t key, simt::Warp& warp) {
    heap_.push_back({key, next_number_++, &warp});
    std::ranges::push_heap(heap_, is_behind);
  }
  simt::Warp& pop() {
    std::ranges::pop_heap(heap_, is_behind);
    simt::Warp& warp = *heap_.back().warp;
    heap_.pop_back();
    warp.queued = false;
    return warp;
  }
  void remove(const simt::Grid& grid) {
    std::erase_if(heap_, [&](const Entry& e) {
      if (&e.warp->block().grid() != &grid) return false;
      e.warp->queued = false;
      return true;
    });
    std::ranges::make_heap(heap_, is_behind);
  }

 private:
  struct Entry {
    uint64_t key = 0;
    uint64_t number = 0;
    simt::Warp* warp = nullptr;
  };
  static bool is_behind(const Entry& a, const Entry& b) { return a.key != b.key ? a.key > b.key : a.number > b.number; }

  std::vector<Entry> heap_;
  uint64_t next_number_ = 0;
};

}  // namespace fb::machine
