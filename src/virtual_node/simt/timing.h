#pragma once

// Time that passes inside a multiprocessor, prepared when a program is lowered.
//
// A span is a piece of a basic block between two points at which a warp may have to wait for data. Everything in it
// has a fixed latency, so that its length in a warp that runs alone is known beforehand: the larger of its issue slots
// and its longest chain of dependent instructions, as a compiler would order them. Lowering puts an instruction at the
// head of each span that moves the warp's clock by that length and notes how long the units of its scheduler are
// occupied. Contention with other warps is the listener's part (Listener::on_units): it is asked about every hundred
// cycles.
//
// Loads whose latency is not known beforehand have a slot each, as hardware has scoreboards: a span that uses their
// results names the slots, and waits for the latest of them.

#include <array>
#include <cstdint>
#include <vector>

#include "common/ptx/units.h"

namespace fb::simt {

// What can be occupied: one each in every scheduler, except for the load/store unit, which is the multiprocessor's.
enum class Part : uint8_t { issue, integer, multiply, f64, special, tensor, load_store, count_ };
inline constexpr uint32_t kParts = static_cast<uint32_t>(Part::count_);
static_assert(kParts < 8);

inline constexpr uint32_t kLoadSlots = 16;
inline constexpr uint8_t kNoSlot = 0xff;

// Picoseconds of each part.
using PartTimes = std::array<uint32_t, 8>;

// An instruction's share of a span.
struct SpanShare {
  uint32_t index = 0;  // in the function's body
  uint32_t issue = 0;  // picoseconds of issue slots
};

struct Span {
  uint64_t time = 0;      // alone, in picoseconds
  uint32_t issue = 0;     // of these, issue slots; the others are latencies of arithmetic
  uint16_t waits = 0;     // slots
  uint32_t function = 0;  // Module::functions
  uint32_t waiter = 0;    // the first instruction that waits, in its body
  PartTimes occupied{};
  std::vector<SpanShare> shares;  // for profiles
};

// Latencies and rates of a platform, in picoseconds; the machine fills it (machine/unit_times.h).
struct UnitTimes {
  struct Entry {
    uint32_t latency = 0;   // from issue to the first dependent instruction
    uint32_t interval = 0;  // between two instructions of a warp scheduler
  };
  uint32_t cycle = 0;
  std::array<Entry, static_cast<size_t>(ptx::Unit::control) + 1> unit{};
  uint32_t shared_latency = 0;    // of a load from shared memory
  uint32_t local_latency = 0;     // of a load from local memory, in L1
  uint32_t branch = 0;            // what a taken branch costs beside its issue slot
  uint32_t reduce_add = 0;        // redux.sync of sums, which is slower than that of minima
  uint32_t warp_barrier = 0;      // bar.warp.sync
  double products_per_cycle = 0;  // multiplications of bf16 by mma.sync, of a scheduler

  bool empty() const { return cycle == 0; }
};

}  // namespace fb::simt
