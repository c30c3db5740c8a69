#include "virtual_node/rdma/object_table.h"

#include "common/base/hash.h"

namespace fb::rdma {

QueuePair* ObjectTable::find_pair(uint32_t card, uint32_t number) const {
  const auto found = by_number_.find({card, number});
  return found == by_number_.end() ? nullptr : found->second;
}

Region* ObjectTable::region_of(uint32_t key) const {
  const auto found = region_by_key_.find(key);
  return found == region_by_key_.end() ? nullptr : found->second;
}

Window* ObjectTable::window_of(uint32_t key) const {
  const auto found = window_by_key_.find(key);
  return found == window_by_key_.end() ? nullptr : found->second;
}

// The low byte is left to programs, which change it in windows of type 2.
uint32_t ObjectTable::new_key() {
  for (;;) {
    const auto key = static_cast<uint32_t>(mix(secret_, next_key_++)) & ~0xffu;
    const auto is_taken = [&](const auto& table) {
      const auto next = table.lower_bound(key);
      return next != table.end() && (next->first & ~0xffu) == key;
    };
    if (key != 0 && !is_taken(region_by_key_) && !is_taken(window_by_key_)) return key;
  }
}

uint32_t ObjectTable::new_number(uint32_t card) {
  do {
    next_number_ = (next_number_ + 1) & kPsnMask;
  } while (next_number_ < 16 || by_number_.contains({card, next_number_}));
  return next_number_;
}

void ObjectTable::set_key(Window& window, uint32_t key) {
  window_by_key_.erase(window.key);
  window.key = key;
  window_by_key_[key] = &window;
}

void ObjectTable::give(QueuePair& pair, uint32_t process) {
  --objects_[pair.process];
  ++objects_[process];
  pair.process = process;
}

}  // namespace fb::rdma
