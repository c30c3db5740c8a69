#pragma once

// Caches, as far as time needs them: which bytes of a load come from L1, from L2 and from memory. They hold no data:
// values are always those of memory.
//
// L1 belongs to a multiprocessor. It keeps lines of its own and of peers' memory, with a flag for each sector, until
// the kernel ends or the multiprocessor acquires something at a scope wider than the block. Stores go through it and
// leave it as it is.
//
// L2 belongs to a device and keeps its own memory's lines only. A line is in it as long as no more bytes than it holds
// were fetched since the line was last used: least recently used, in effect, at the price of one word for each line.
// A line that is written is written back once, however often it is written meanwhile.

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "virtual_node/mem/address_space.h"

namespace fb::machine {

inline constexpr uint64_t kCacheLine = 128, kSector = 32;

class L1Cache {
 public:
  // Which of the `wanted` sectors of a line are missing; they are there from now on. `key`: unique for the line, and
  // for the kernel.
  uint32_t miss(uint64_t key, uint32_t wanted) {
    if (!sets_) [[unlikely]]
      sets_ = std::make_unique<Set[]>(kSets);
    Set& set = sets_[set_of(key)];
    for (uint32_t w = 0; w < kWays; ++w) {
      if (set.key[w] != key) continue;
      const uint32_t missing = wanted & ~set.sectors[w];
      set.sectors[w] |= static_cast<uint8_t>(wanted);
      return missing;
    }
    const uint32_t victim = set.next;
    set.next = static_cast<uint8_t>((victim + 1) % kWays);
    set.key[victim] = key;
    set.sectors[victim] = static_cast<uint8_t>(wanted);
    return wanted;
  }

  // Accesses to many lines are looked up in part: those of one set of sixteen stand for all.
  static constexpr uint32_t kSampled = 16;
  static bool is_sampled(uint64_t key) { return set_of(key) % kSampled == 0; }

 private:
  static uint64_t set_of(uint64_t key) { return key * 0x9e3779b97f4a7c15 >> 32 & (kSets - 1); }

  // 192 KiB: what is left of 256 beside a moderate share of shared memory.
  static constexpr uint32_t kSets = 256, kWays = 6;
  struct Set {
    std::array<uint64_t, kWays> key{};
    std::array<uint8_t, kWays> sectors{};
    uint8_t next = 0;
  };
  std::unique_ptr<Set[]> sets_;
};

// Of one device.
class L2Cache {
 public:
  explicit L2Cache(uint64_t bytes) : lines_(static_cast<uint32_t>(bytes / kCacheLine)) {}

  // Reads a line; true if memory has to be asked. `lines`: for how many it stands.
  bool read(const mem::Allocation& allocation, uint64_t line, uint32_t lines = 1) {
    uint32_t& stamp = stamp_of(allocation, line);
    const bool missing = !holds(stamp);
    if (missing) fetched_ += lines;
    stamp = fetched_ << 1 | (missing ? 0 : stamp & 1);
    return missing;
  }
  // Writes a line; true if memory has to take its bytes, sooner or later.
  bool write(const mem::Allocation& allocation, uint64_t line, uint32_t lines = 1) {
    uint32_t& stamp = stamp_of(allocation, line);
    const bool present = holds(stamp), dirty = present && (stamp & 1) != 0;
    if (!present) fetched_ += lines;
    stamp = fetched_ << 1 | 1;
    return !dirty;
  }

 private:
  bool holds(uint32_t stamp) const { return stamp != 0 && ((fetched_ - (stamp >> 1)) & 0x7fffffff) < lines_; }
  uint32_t& stamp_of(const mem::Allocation& allocation, uint64_t line) {
    const Recent& r = recent_[allocation.id % kRecent];
    if (r.id != allocation.id) [[unlikely]]
      return find(allocation, line);
    return line < r.count ? r.lines[line] : beyond_;
  }
  uint32_t& find(const mem::Allocation& allocation, uint64_t line);

  // By line: twice the number of lines that had been fetched when it was last used, plus one if it is dirty.
  struct Stamps {
    std::unique_ptr<uint32_t[], void (*)(void*)> lines{nullptr, nullptr};
    uint64_t count = 0;
  };
  struct Recent {
    uint64_t id = ~uint64_t{0};
    uint32_t* lines = nullptr;
    uint64_t count = 0;
  };
  static constexpr uint32_t kRecent = 16;

  uint32_t lines_;
  uint32_t fetched_ = 1;                              // lines, since the start
  std::unordered_map<uint64_t, Stamps> allocations_;  // by id
  std::array<Recent, kRecent> recent_;
  uint32_t beyond_ = 0;
};

}  // namespace fb::machine
