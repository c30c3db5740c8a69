#pragma once

// A sparse vector clock. Immutable once it is shared, so that a release costs a pointer.
//
// Agents are lanes of warps of blocks (operations of streams count as blocks of one warp). A block has one epoch, which
// advances whenever one of its warps releases something; so an entry can speak of some lanes of a warp, of a warp, or
// of a whole block, and entries of the parts are dropped when the whole is covered: at block barriers. A stream
// performs its operations in order: an entry for a stream covers all its operations up to one, and the entries of their
// blocks are dropped. So only running kernels have entries. Those of one kernel are shared by all clocks that are equal
// in it: most clocks differ in one kernel out of many.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/race/clocks/join_memo.h"
#include "virtual_node/simt/inst.h"

namespace fb::race {

using BlockId = uint32_t;  // 0: none
using Epoch = uint32_t;
using simt::Mask;

// Warps are counted from 1 in entries.
inline constexpr uint16_t kAllWarps = 0;

struct Entry {
  BlockId block = 0;
  uint16_t warp = kAllWarps;
  Mask lanes = simt::kAllLanes;
  Epoch epoch = 0;  // the last one that is covered
  friend bool operator==(const Entry&, const Entry&) = default;
};

// An operation by its position in the order of its stream.
struct StreamEpoch {
  uint32_t stream = 0;  // 0: none
  uint32_t seq = 0;
  friend auto operator<=>(const StreamEpoch&, const StreamEpoch&) = default;
};

// One write without anything else that its thread did: a strong load returned its value, but no release or acquire went
// with it.
struct SeenWrite {
  const void* line = nullptr;
  uint32_t offset = 0;
  BlockId block = 0;
  uint16_t warp = 0;
  uint32_t lane = 0;
  Epoch epoch = 0;
  friend bool operator==(const SeenWrite&, const SeenWrite&) = default;
};

// Of the blocks of one operation: by block, warp, and lanes with the larger sets first.
using Entries = std::vector<Entry>;
using EntriesRef = std::shared_ptr<const Entries>;
using EntriesMemo = JoinMemo<Entries>;

class Clock;
// Null: the empty clock.
using ClockRef = std::shared_ptr<const Clock>;

class Clock {
 public:
  Clock() = default;

  // `of`: the operation to which the entry's block belongs.
  void add(const StreamEpoch& of, const Entry& entry);
  void add(const StreamEpoch& operation);
  void add(const SeenWrite& seen);
  // Drops the entries of this operation's blocks.
  void forget(const StreamEpoch& of);

  bool covers(const StreamEpoch& of, BlockId block, uint16_t warp, Mask lanes, Epoch epoch) const;
  bool covers(const StreamEpoch& operation) const;
  bool covers(const SeenWrite& seen) const;
  // other ≤ *this
  bool covers(const Clock& other) const;

  size_t size() const;

  // The least upper bound of two clocks that are not null: one of the two where that covers the other.
  static ClockRef join(const ClockRef& a, const ClockRef& b, EntriesMemo* memo);

 private:
  struct Part {
    StreamEpoch of;
    EntriesRef entries;
  };
  static bool part_before(const Part& a, const Part& b) { return a.of < b.of; }
  const Part* part(const StreamEpoch& of) const;

  std::vector<StreamEpoch> streams_;  // by stream
  std::vector<Part> parts_;           // by operation; of none that `streams_` covers
  std::vector<SeenWrite> seen_;       // bounded, by address
};

// Without a memo: for occasional joins outside the detector. Either may be null.
ClockRef join(const ClockRef& a, const ClockRef& b);

}  // namespace fb::race
