#pragma once

// The last writes to words that serve as flags and counters, for the explanation of deadlocks: the writer, its
// instruction, the time, and the value before. The value after a write is the value before the next one, or what memory
// holds now.
//
// Bounded, and cheap where nothing is written one word at a time: stores of many lanes at once are data, and only
// strong ones leave a record, one for all lanes. Words are identified by allocation and offset, never by host address,
// so that evictions are the same in every run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ptx/module.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/listener.h"

namespace fb::machine {

// A launch; kept beyond the end of the grid.
struct KnownGrid {
  uint64_t id = 0;
  uint32_t device = 0;  // of the node
  uint32_t process = 0;
  std::string kernel;
  uint64_t launch = 0;  // of this kernel by this process on this device, from 1
  uint64_t call = 0;    // of run, from 1; 0: not judged, or of no call
  bool ended = false;
  std::shared_ptr<const ptx::Module> module;
  uint32_t function = 0;  // in the module
  std::vector<std::byte> params;
  std::vector<uint32_t> param_offsets;
};

class WriteHistory {
 public:
  static constexpr uint32_t kWord = 8;  // granularity in bytes

  enum class Kind : uint8_t { store, atomic, operation };
  struct Write {
    uint64_t sequence = 0;  // among all; 0: none
    uint64_t time = 0;
    uint64_t before = 0;   // the word
    uint64_t seen_by = 0;  // reader_bits() of warps that have read it since, with strong loads
    uint64_t grid = 0;     // or the number of an operation
    uint32_t block = 0;
    uint32_t function = 0, index = 0;
    uint16_t warp = 0;
    uint8_t offset = 0, bytes = 0;  // in the word
    Kind kind = Kind::store;
    bool strong = false;

    bool overlaps(uint32_t begin, uint32_t size) const {
      return offset < begin + size && begin < uint32_t{offset} + bytes;
    }
  };
  // A copy, a fill or a value that a stream has written.
  struct OperationWrite {
    uint64_t sequence = 0;
    uint64_t time = 0;
    uint64_t allocation = 0;
    uint64_t begin = 0, end = 0;  // in the allocation
    uint32_t process = 0;
    const char* what = "";
  };
  // A store of many lanes: no values.
  struct WideWrite {
    uint64_t sequence = 0, time = 0;
    uint64_t chunk = ~uint64_t{0}, allocation = 0;
    uint64_t grid = 0;
    uint32_t block = 0, warp = 0;
    uint32_t function = 0, index = 0;
  };
  struct Word {
    std::weak_ptr<const mem::Allocation> memory;
    uint64_t word = ~uint64_t{0};
    std::vector<Write> writes;  // oldest first
  };

  // Before the access is performed.
  void note_write(simt::Warp& w, const simt::Access& access) {
    const bool one_lane = (access.lanes & (access.lanes - 1)) == 0;
    if (!one_lane && !is_strong(access.order)) return;
    note(w, access);
  }
  // A strong load.
  void note_read(simt::Warp& w, const simt::Access& access);
  // Before an operation of a stream writes.
  void note_operation(const mem::Allocation& allocation, const std::byte* at, uint64_t bytes, const char* what,
                      uint32_t process, uint64_t time);
  KnownGrid& note_grid(KnownGrid grid);
  void note_grid_end(uint64_t id);

  const KnownGrid* find_grid(uint64_t id) const;
  const std::vector<KnownGrid>& grids() const { return grids_; }
  // How often the process has launched the kernel, on any device.
  uint64_t launches(uint32_t process, const std::string& kernel) const;
  bool has_launched(uint32_t process) const;

  // The recorded writes to the word at an offset of an allocation.
  std::vector<Write> writes(const mem::Allocation& allocation, uint64_t offset) const;
  std::optional<WideWrite> wide_write(const mem::Allocation& allocation, uint64_t offset) const;
  std::optional<OperationWrite> operation_write(const mem::Allocation& allocation, uint64_t offset) const;
  const OperationWrite* find_operation(uint64_t sequence) const;
  // All recorded words, the last written first.
  std::vector<Word> words() const;

  static uint64_t key_of(const mem::Allocation& a) { return uint64_t{a.id} << 32 | a.device; }
  // Two bits of 64, the same for the warp with the same block and index in every launch.
  static uint64_t reader_bits(const simt::Warp& w);

 private:
  static constexpr size_t kSets = 2048, kWays = 2, kWrites = 4;
  static constexpr size_t kWideSlots = 1024;
  static constexpr uint64_t kChunk = 512;  // granularity of wide writes in bytes
  static constexpr uint32_t kFewLanes = 8;
  static constexpr size_t kMostOperations = 128;
  static constexpr size_t kMostGrids = 256;

  struct Slot {
    uint64_t allocation = 0, word = ~uint64_t{0};
    std::weak_ptr<const mem::Allocation> memory;
    uint64_t count = 0;
    std::array<Write, kWrites> writes;  // a ring
    Write& last() { return writes[(count - 1) % kWrites]; }
    // A strong load of these bytes: marks the newest write that it can have seen.
    void mark_seen(uint32_t offset, uint32_t bytes, uint64_t reader);
    std::vector<Write> in_order() const;
  };

  void note(simt::Warp& w, const simt::Access& access);
  void note_lane(simt::Warp& w, const simt::Access& access, const std::shared_ptr<mem::Allocation>& allocation,
                 uint64_t offset);
  void note_wide(simt::Warp& w, const simt::Access& access, const mem::Allocation& allocation, uint64_t offset);
  Slot* find(uint64_t allocation, uint64_t word);
  Slot& make(const std::shared_ptr<mem::Allocation>& allocation, uint64_t word);
  static void push(Slot& slot, const Write& write);
  static size_t hash(uint64_t allocation, uint64_t word) {
    return (allocation * 0x9e3779b97f4a7c15 ^ word) * 0xd6e8feb86659fd93 >> 40;
  }

  std::vector<std::array<Slot, kWays>> sets_;  // empty until the first write
  std::vector<WideWrite> wide_;                // empty until the first
  std::deque<OperationWrite> operations_;
  std::vector<KnownGrid> grids_;
  size_t next_grid_ = 0;
  std::map<std::pair<std::pair<uint32_t, uint32_t>, std::string>, uint64_t> launches_;
  uint64_t sequence_ = 0;
};

// The bytes [offset, offset + bytes) of a word.
uint64_t part_of(uint64_t word, uint32_t offset, uint32_t bytes);

}  // namespace fb::machine
