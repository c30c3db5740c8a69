#include "machine/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/printer.h"

namespace fb::machine {
namespace {

constexpr size_t kMostAddresses = 4;

simt::Dim3 thread_position(const simt::Warp& warp, uint32_t lane) {
  const simt::Dim3 size = warp.block().grid().block;
  const uint32_t t = warp.index() * simt::kLanes + lane;
  return {t % size.x, t / size.x % size.y, t / size.x / size.y};
}

std::string describe_missing(const simt::BlockBarrier& b, const simt::Block& block) {
  uint32_t arrived = 0;
  for (const simt::BarrierWarp& w : b.warps) arrived += static_cast<uint32_t>(std::popcount(w.arrived));
  const uint32_t expected = b.expected_threads == 0 ? block.threads() : b.expected_threads;
  return fmt::format("{} of {} threads have arrived", arrived, expected);
}

std::string reason_of(const simt::Warp& warp, const simt::Split& s) {
  switch (s.state) {
    case simt::SplitState::ready:
      return "its turn";
    case simt::SplitState::barrier:
      if (s.barrier >= simt::kOwnWarpOnly)
        return fmt::format("the rest of its warp at bar.arrive {}", s.barrier - simt::kOwnWarpOnly);
      return fmt::format("barrier {} ({})", s.barrier, describe_missing(warp.block().barrier(s.barrier), warp.block()));
    case simt::SplitState::cluster_barrier:
      return "the cluster barrier";
    case simt::SplitState::lanes:
      return fmt::format("lanes {:#010x} of its warp to come to this instruction", s.wanted & ~s.mask);
    case simt::SplitState::warp_barrier:
      return fmt::format("lanes {:#010x} of its warp at bar.warp.sync", s.wanted & ~s.mask);
    case simt::SplitState::async:
      return "copies of its own to complete";
    case simt::SplitState::asleep:
      return s.asleep_on.empty() ? "nothing: an endless loop that reads no memory" : "memory to change";
  }
  return "?";
}

}  // namespace

CodePlace place_of(const simt::Grid& grid, const simt::Inst& inst) {
  const simt::Origin origin = grid.program->origins[inst.origin];
  const ptx::Module& module = *grid.program->module;
  const ptx::Function& function = module.functions[origin.function];
  CodePlace place;
  place.kernel = grid.kernel->name;
  place.function = function.name;
  if (origin.index >= function.body.size()) return place;
  const ptx::Instruction& source = function.body[origin.index];
  place.ptx_line = source.at.line;
  place.text = ptx::print(module, function, source);
  place.line = source.source.line;
  if (source.source.file < module.files.size()) place.file = module.files[source.source.file];
  return place;
}

Fault make_fault(const simt::Warp& warp, const simt::Trap& trap) {
  Fault fault;
  fault.kind = trap.kind;
  fault.message = trap.message;
  fault.place = place_of(warp.block().grid(), *trap.inst);
  fault.block = warp.block().position();
  fault.thread = thread_position(warp, trap.lane);
  fault.address = trap.address;
  fault.bytes = trap.bytes;
  return fault;
}

void add_waiters(const simt::Warp& warp, const mem::AddressSpace& memory, size_t most, Deadlock& record) {
  for (const simt::Split& s : warp.splits()) {
    record.waiting_threads += static_cast<uint64_t>(std::popcount(s.mask));
    if (record.waiters.size() >= most) continue;
    Waiter w;
    w.block = warp.block().index();
    w.warp = warp.index();
    w.lanes = s.mask;
    w.reason = reason_of(warp, s);
    const simt::Inst* at = !s.asleep_on.empty() ? s.asleep_on.front().inst : s.behind ? s.ip - 1 : s.ip;
    w.place = place_of(warp.block().grid(), *at);
    for (const simt::WatchedRead& r : s.asleep_on) {
      if (w.seen.size() == kMostAddresses) break;
      Waiter::Seen seen{r.guest, r.bytes, 0, memory.describe(r.guest)};
      if (mem::is_shared(r.guest) || r.guest < mem::kSharedWindow) seen.where = "shared memory";
      std::memcpy(&seen.value, r.seen, std::min<size_t>(r.bytes, sizeof seen.value));
      w.seen.push_back(std::move(seen));
    }
    record.waiters.push_back(std::move(w));
  }
}

}  // namespace fb::machine
