#pragma once

// Which splits and operations sleep on which bytes. Keyed by host address, so that one physical byte seen through
// several mappings is one byte. Wake-ups come in the order in which the sleepers registered: deterministic.

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fb::simt {

// An agent that sleeps until bytes change: a warp's split, or an operation on a stream.
class Watcher {
 public:
  virtual void wake(uint32_t token) = 0;

 protected:
  ~Watcher() = default;
};

class Watch {
 public:
  struct Sleeper {
    Watcher* watcher = nullptr;
    uint32_t token = 0;  // of a warp: Split::id
    const std::byte* begin = nullptr;
    uint32_t bytes = 0;
  };

  void add(const Sleeper& sleeper);
  void remove(const Watcher* watcher, uint32_t token, const std::byte* at, uint32_t bytes);

  void clear();

  bool empty() const { return count_ == 0; }

  // To be called after bytes have changed. Cheap when nothing sleeps on bytes nearby.
  void written(const std::byte* at, uint64_t bytes) {
    if (count_ == 0) [[likely]]
      return;
    const auto first = line(at), last = line(at + bytes - 1);
    for (auto l = first; l <= last; ++l) {
      if (filter_[l % kFilter] != 0) wake(l, at, bytes);
    }
  }

 private:
  static constexpr size_t kFilter = 4096;
  static uintptr_t line(const std::byte* p) { return reinterpret_cast<uintptr_t>(p) / 128; }

  void wake(uintptr_t line, const std::byte* at, uint64_t bytes);

  size_t count_ = 0;
  std::array<uint32_t, kFilter> filter_{};
  std::unordered_map<uintptr_t, std::vector<Sleeper>> by_line_;
};

}  // namespace fb::simt
