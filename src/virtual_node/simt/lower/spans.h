#pragma once

// Spans of a function (virtual_node/simt/timing.h): where they begin, how long they are, which loads they wait for.
//
// Instructions of a basic block are taken in the order of a compiler that schedules well, not in that of the PTX: loads
// as early as their addresses are known, what uses them behind all of them. So the instructions between two ordered
// ones (barriers, fences, atomics, strong accesses, calls, readings of the clock) are put into levels: level 0 needs no
// load, level n + 1 needs one of level n. Each level is a span, and waits for the loads that its instructions use. A
// load behind a store to the same space has at least the store's level, because it may read what was stored.
//
// A result that is not used in its own piece is waited for where it is used, over branches and moves: software
// pipelining works as it does on hardware.

#include <cstdint>
#include <vector>

#include "common/ptx/module.h"
#include "virtual_node/simt/timing.h"

namespace fb::simt {

struct SpanPlan {
  // By body index: spans that begin before and behind an instruction, in order.
  std::vector<std::vector<Span>> before, behind;
  std::vector<uint8_t> slot;  // of loads; kNoSlot
};

// Of function `index` of the module.
SpanPlan plan_spans(const ptx::Module& module, uint32_t index, const UnitTimes& times);

}  // namespace fb::simt
