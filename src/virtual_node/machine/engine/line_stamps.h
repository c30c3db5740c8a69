#pragma once

// When lines of memory were last written by strong stores: 128-byte lines of allocations. Bounded: the oldest stamps of
// a set are evicted. Lines are identified by allocation and offset, never by host address, so that evictions are the
// same in every run.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "virtual_node/mem/address_space.h"

namespace fb::machine {

class LineStamps {
 public:
  static constexpr uint64_t kLine = 128;

  void set(const mem::Allocation& allocation, uint64_t line, uint64_t arrival) {
    if (sets_.empty()) sets_.resize(kSets);
    newest_ = std::max(newest_, arrival);
    const Key key = key_of(allocation, line);
    Set& set = sets_[hash(key)];
    Stamp* oldest = &set[0];
    for (Stamp& s : set) {
      if (s.key == key) {
        s.arrival = std::max(s.arrival, arrival);
        return;
      }
      if (s.arrival < oldest->arrival) oldest = &s;
    }
    *oldest = {key, arrival};
  }

  // Serialises strong accesses to one line, `interval` apart. Requests up to 16 intervals out of order queue at the
  // tail; older ones are not delayed. Returns when the access is performed.
  uint64_t serialise(const mem::Allocation& allocation, uint64_t line, uint64_t arrival, uint64_t interval) {
    constexpr uint64_t kTolerated = 16;  // intervals
    const uint64_t last = find(allocation, line);
    if (last != 0 && arrival < last + interval && arrival + kTolerated * interval >= last) arrival = last + interval;
    set(allocation, line, arrival);
    return arrival;
  }

  // 0: no stamp.
  uint64_t find(const mem::Allocation& allocation, uint64_t line) const {
    if (sets_.empty()) return 0;
    const Key key = key_of(allocation, line);
    for (const Stamp& s : sets_[hash(key)]) {
      if (s.key == key) return s.arrival;
    }
    return 0;
  }

  // Of all that were ever set.
  uint64_t newest() const { return newest_; }

 private:
  static constexpr size_t kSets = 4096, kWays = 4;

  struct Key {
    uint64_t allocation = 0;
    uint64_t line = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Stamp {
    Key key;
    uint64_t arrival = 0;
  };
  using Set = std::array<Stamp, kWays>;

  static Key key_of(const mem::Allocation& a, uint64_t line) { return {uint64_t{a.id} << 32 | a.device, line}; }
  static size_t hash(const Key& key) {
    const uint64_t mixed = (key.allocation * 0x9e3779b97f4a7c15 ^ key.line) * 0xd6e8feb86659fd93;
    return mixed >> 32 & (kSets - 1);
  }

  std::vector<Set> sets_;  // empty until the first stamp
  uint64_t newest_ = 0;
};

}  // namespace fb::machine
