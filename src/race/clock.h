#pragma once

// What an agent knows to have happened: a sparse clock. Immutable once it is shared, so that a release costs a pointer.
//
// Agents are lanes of warps of blocks (operations of streams count as blocks of one warp). A block has one time, its
// tick, which goes on whenever one of its warps publishes something; so an entry can speak of some lanes of a warp, of
// a warp, or of a whole block, and entries of the parts vanish when the whole is known: at block barriers. Streams do
// their operations one after the other: an entry for a stream speaks of all its operations up to one, and what was
// known of their blocks vanishes. So only kernels at work have entries. Those of one kernel are shared by all clocks
// that know the same of it: most clocks differ in one kernel out of many.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simt/inst.h"

namespace fb::race {

using BlockId = uint32_t;  // 0: nobody
using Tick = uint32_t;
using simt::Mask;

// Warps are counted from 1 in entries.
inline constexpr uint16_t kAllWarps = 0;

struct Entry {
  BlockId block = 0;
  uint16_t warp = kAllWarps;
  Mask lanes = simt::kAllLanes;
  Tick tick = 0;  // what these did up to here, this tick included
  friend bool operator==(const Entry&, const Entry&) = default;
};

// A place in the order of a stream.
struct StreamPlace {
  uint32_t stream = 0;  // 0: none
  uint32_t time = 0;
  friend auto operator<=>(const StreamPlace&, const StreamPlace&) = default;
};

// One write that was seen, without anything else that its thread did: a strong load has returned its value, and no
// release or acquire went with it.
struct SeenWrite {
  const void* line = nullptr;
  uint32_t offset = 0;
  BlockId block = 0;
  uint16_t warp = 0;
  uint32_t lane = 0;
  Tick tick = 0;
  friend bool operator==(const SeenWrite&, const SeenWrite&) = default;
};

// Of the blocks of one operation: by block, warp, and lanes with the larger sets first.
using Entries = std::vector<Entry>;
using EntriesRef = std::shared_ptr<const Entries>;

class Clock;
// Null: knows nothing.
using ClockRef = std::shared_ptr<const Clock>;

class Clock {
 public:
  Clock() = default;

  // `of`: the operation to which the entry's block belongs.
  void add(const StreamPlace& of, const Entry& entry);
  void add(const StreamPlace& place);
  void add(const SeenWrite& seen);
  // What is known of this operation's blocks is of no more use.
  void forget(const StreamPlace& of);

  bool covers(const StreamPlace& of, BlockId block, uint16_t warp, Mask lanes, Tick tick) const;
  bool covers(const StreamPlace& place) const;
  bool covers(const SeenWrite& seen) const;
  // Everything that `other` knows.
  bool covers(const Clock& other) const;

  size_t size() const;
  friend ClockRef really_join(const ClockRef& a, const ClockRef& b);

 private:
  struct Part {
    StreamPlace of;
    EntriesRef entries;
  };
  static bool part_before(const Part& a, const Part& b) { return a.of < b.of; }
  const Part* part(const StreamPlace& of) const;

  std::vector<StreamPlace> streams_;  // by stream
  std::vector<Part> parts_;           // by operation; of none that `streams_` knows as a whole
  std::vector<SeenWrite> seen_;       // the last few, by place
};

// What both know; one of the two where that knows it all.
ClockRef join(const ClockRef& a, const ClockRef& b);
// The same, without looking whether the two were joined lately.
ClockRef really_join(const ClockRef& a, const ClockRef& b);

}  // namespace fb::race
