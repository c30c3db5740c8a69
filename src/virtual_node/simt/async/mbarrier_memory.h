#pragma once

// mbarrier objects in the shared memory of blocks. Instructions and copies that complete change
// them here, and splits that sleep on a phase are woken when it ends.

#include <cstddef>
#include <cstdint>

#include "virtual_node/simt/async/mbarrier.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

class Block;

// Applies `operation` to the object at `at` and returns the word as it was before. Throws Trap when there is no object
// or the operation is not legal; then memory is unchanged.
template <class F>
uint64_t update_mbarrier(Block& owner, std::byte* at, const Inst& i, uint32_t lane, F operation);

// One arrival, or `bytes` of finished copies, signalled by the machine. The second is reported to the listener.
void arrive_at(Block& owner, std::byte* at, const Inst& i, uint32_t lane);
void complete_tx_at(Block& owner, std::byte* at, const Inst& i, uint32_t lane, uint32_t bytes);

uint64_t load_mbarrier(Block& owner, const std::byte* at, const Inst& i, uint32_t lane);
void store_mbarrier(Block& owner, std::byte* at, uint64_t word);

// The byte of the object that holds the phase: it changes only when a phase ends, so that waiting for it is not
// disturbed by arrivals.
inline const std::byte* phase_byte(const std::byte* at) { return at + 7; }

[[noreturn]] void mbarrier_trap(Block& owner, const std::byte* at, const Inst& i, uint32_t lane,
                                std::string_view problem);
// Wakes the splits that wait for the phase to end.
void phase_has_ended(Block& owner, std::byte* at);
void write_mbarrier(std::byte* at, const Mbarrier& barrier);

template <class F>
uint64_t update_mbarrier(Block& owner, std::byte* at, const Inst& i, uint32_t lane, F operation) {
  const uint64_t before = load_mbarrier(owner, at, i, lane);
  Mbarrier barrier = decode_mbarrier(before);
  const MbarrierResult result = operation(barrier);
  if (!result.problem.empty()) mbarrier_trap(owner, at, i, lane, result.problem);
  write_mbarrier(at, barrier);
  if (result.completed) phase_has_ended(owner, at);
  return before;
}

}  // namespace fb::simt
