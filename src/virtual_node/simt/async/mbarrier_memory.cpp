#include "virtual_node/simt/async/mbarrier_memory.h"

#include <fmt/format.h>

#include <cstring>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/shared_ref.h"
#include "virtual_node/simt/trap.h"

namespace fb::simt {

void mbarrier_trap(Block& owner, const std::byte* at, const Inst& i, uint32_t lane, std::string_view problem) {
  const auto offset = static_cast<uint32_t>(at - owner.shared()) + mem::kSharedReserved;
  // Not Warp::trap: copies that complete have no running warp.
  throw Trap{TrapKind::bad_barrier,
             fmt::format("mbarrier at shared address {:#x} of block {}: {}", offset, owner.index(), problem),
             &i,
             lane,
             mem::kSharedWindow + offset,
             8};
}

uint64_t load_mbarrier(Block& owner, const std::byte* at, const Inst& i, uint32_t lane) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  if (!is_live_mbarrier(word)) mbarrier_trap(owner, at, i, lane, "it was not initialised");
  return word;
}

void store_mbarrier(Block& owner, std::byte* at, uint64_t word) {
  std::memcpy(at, &word, sizeof word);
  shared_written(owner, at, sizeof word);
}

void write_mbarrier(std::byte* at, const Mbarrier& barrier) {
  const uint64_t word = encode(barrier);
  std::memcpy(at, &word, sizeof word);
}

void phase_has_ended(Block& owner, std::byte* at) { owner.environment().watch().written(at, sizeof(uint64_t)); }

void arrive_at(Block& owner, std::byte* at, const Inst& i, uint32_t lane) {
  update_mbarrier(owner, at, i, lane, [](Mbarrier& b) { return arrive(b, 1); });
}

void complete_tx_at(Block& owner, std::byte* at, const Inst& i, uint32_t lane, uint32_t bytes) {
  if (owner.listener()) owner.listener()->on_mbarrier_signal(owner, at);
  update_mbarrier(owner, at, i, lane, [&](Mbarrier& b) { return complete_tx(b, bytes); });
}

}  // namespace fb::simt
