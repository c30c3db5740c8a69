#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace fb::shim {

// Numbers for handles, never given twice, so that a destroyed handle is known as such.
inline uint64_t next_handle() {
  static std::atomic<uint64_t> next{0x10000};
  return next.fetch_add(0x40);
}

// The live handles of one kind. A handle is an opaque number in a pointer's clothes; what it stands for stays alive
// while anyone uses it, also when another thread destroys the handle meanwhile.
template <class Handle, class T>
class Registry {
 public:
  Handle add(std::shared_ptr<T> object) {
    const auto handle = reinterpret_cast<Handle>(next_handle());
    const std::lock_guard lock(mutex_);
    live_.emplace(handle, std::move(object));
    return handle;
  }
  // Null: no such handle.
  std::shared_ptr<T> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(handle);
    return found == live_.end() ? nullptr : found->second;
  }
  // Finds and forgets it.
  std::shared_ptr<T> take(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(handle);
    if (found == live_.end()) return nullptr;
    auto object = std::move(found->second);
    live_.erase(found);
    return object;
  }
  // Null: it has no handle any more.
  Handle handle_of(const std::shared_ptr<T>& object) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, live] : live_) {
      if (live == object) return handle;
    }
    return nullptr;
  }
  std::vector<std::shared_ptr<T>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> list;
    for (const auto& [handle, object] : live_) list.push_back(object);
    return list;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<T>> live_;
};

}  // namespace fb::shim
