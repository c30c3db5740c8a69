#pragma once

// Where a multimem address leads: to bytes of every member of a multicast object, in the order of the object's list.
// Reductions over members are done in that order, so that sums of floats are the same in every run.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

// The members' bytes behind the address of each executing lane.
class MulticastLocations {
 public:
  // `bytes` at a[lane], aligned to their size. All lanes are checked before the first is used: an instruction that
  // traps has changed nothing.
  MulticastLocations(Warp& w, const Inst& i, const mem::Address* a, uint32_t bytes);

  std::span<std::byte* const> of(uint32_t lane) const { return {hosts_.data() + first_[lane], count_[lane]}; }

  // For loads: a loop that waits for what it has read sleeps on the bytes of all members.
  void note_reads(Warp& w, const Inst& i, const mem::Address* a) const;

 private:
  uint32_t bytes_;
  std::vector<std::byte*> hosts_;
  uint32_t first_[kLanes] = {};
  uint32_t count_[kLanes] = {};
};

// A stretch of one member's memory that is one piece of a longer range: its bytes from `at` on.
struct MulticastPiece {
  std::byte* host = nullptr;
  uint64_t at = 0;
  uint64_t bytes = 0;
};

// A range of any length at `a`, aligned to `align`, of which all pieces but the last are a multiple; throws Trap.
std::vector<MulticastPiece> resolve_multicast(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint64_t bytes,
                                              uint32_t align);

}  // namespace fb::simt
