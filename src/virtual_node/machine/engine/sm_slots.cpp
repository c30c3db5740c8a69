#include "virtual_node/machine/engine/sm_slots.h"

#include <algorithm>

namespace fb::machine {
namespace {

uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

// A multiprocessor has four parts with a quarter of the registers each. Warps take them in units of 256.
constexpr uint32_t kParts = 4, kUnit = 256;

// What a warp takes: its share of what as many such warps as fit leave unused.
uint32_t registers_of_warp(uint32_t registers, const DeviceLimits& limits) {
  const uint32_t of_part = limits.registers_per_sm / kParts;
  return of_part / std::max(1u, of_part / round_up(registers * simt::kLanes, kUnit));
}

// The most that a thread may have where so many warps are to fit.
uint32_t most_registers(uint64_t warps, const DeviceLimits& limits) {
  const auto of_warp = static_cast<uint32_t>(limits.registers_per_sm / kParts / ((warps + kParts - 1) / kParts));
  return std::max(1u, of_warp / kUnit * kUnit / simt::kLanes);
}

}  // namespace

BlockNeeds needs_of(const simt::Grid& grid, const DeviceLimits& limits) {
  BlockNeeds needs;
  needs.threads = round_up(static_cast<uint32_t>(grid.block.count()), simt::kLanes);
  uint32_t registers = grid.kernel->registers_per_thread;
  const uint32_t warps = needs.threads / simt::kLanes;
  if (grid.kernel->source->assembled.registers == 0) {
    // __launch_bounds__ makes the compiler spill until that many blocks fit.
    const ptx::LaunchBounds& bounds = grid.kernel->source->bounds;
    if (bounds.max_registers != 0) registers = std::min(registers, bounds.max_registers);
    if (bounds.min_blocks_per_sm != 0)
      registers = std::min(registers, most_registers(uint64_t{warps} * bounds.min_blocks_per_sm, limits));
    // A block of legal size always fits: an estimate forbids nothing.
    registers = std::min(registers, most_registers(warps, limits));
  }
  needs.registers_of_thread = registers;
  needs.registers = warps * registers_of_warp(registers, limits);
  needs.shared = limits.shared_reserved_per_block + grid.kernel->static_shared_bytes + grid.dynamic_shared_bytes;
  return needs;
}

bool registers_fit(uint32_t registers, uint64_t threads, const DeviceLimits& limits) {
  const uint64_t warps = (threads + simt::kLanes - 1) / simt::kLanes;
  return (warps + kParts - 1) / kParts * round_up(registers * simt::kLanes, kUnit) <= limits.registers_per_sm / kParts;
}

SmSlots::SmSlots(const DeviceLimits& limits) : limits_(limits), used_(limits.sms) {}

bool SmSlots::fits(const Used& u, const BlockNeeds& n) const {
  return u.blocks < limits_.blocks_per_sm && u.threads + n.threads <= limits_.threads_per_sm &&
         u.registers + n.registers <= limits_.registers_per_sm && u.shared + n.shared <= limits_.shared_per_sm;
}

std::optional<uint32_t> SmSlots::take(const BlockNeeds& needs) {
  const auto best =
      std::ranges::min_element(used_, {}, [&](const Used& u) { return fits(u, needs) ? u.blocks : UINT32_MAX; });
  if (best == used_.end() || !fits(*best, needs)) return std::nullopt;
  ++best->blocks;
  best->threads += needs.threads;
  best->registers += needs.registers;
  best->shared += needs.shared;
  return static_cast<uint32_t>(best - used_.begin());
}

void SmSlots::give_back(uint32_t sm, const BlockNeeds& needs) {
  Used& u = used_[sm];
  --u.blocks;
  u.threads -= needs.threads;
  u.registers -= needs.registers;
  u.shared -= needs.shared;
}

uint64_t SmSlots::capacity(const BlockNeeds& needs) const {
  Used u;
  uint64_t blocks = 0;
  while (fits(u, needs)) {
    ++blocks;
    ++u.blocks;
    u.threads += needs.threads;
    u.registers += needs.registers;
    u.shared += needs.shared;
  }
  return blocks * limits_.sms;
}

}  // namespace fb::machine
