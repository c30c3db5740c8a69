#include "machine/memory_clock.h"

#include <algorithm>
#include <bit>

#include "ptx/traits.h"
#include "simt/async_issue.h"
#include "simt/block.h"
#include "simt/environment.h"
#include "simt/mask.h"

namespace fb::machine {
namespace {

using simt::Access;
using simt::AccessKind;
using simt::first_of;
using simt::is_strong;
using simt::kAllLanes;
using simt::kLanes;
using simt::Mask;
using simt::MemoryOrder;
using simt::Proxy;
using simt::releases;
using simt::Scope;
using simt::Warp;

constexpr uint64_t kSector = 32;
// A quantum ends after this much virtual time, so that warps with earlier clocks catch up.
constexpr Time kQuantum = fabric::kMicrosecond;

// The longest time between two loads of one polling loop.
constexpr Time kPollGap = 200 * fabric::kNanosecond;

static_assert(fabric::kHost == mem::kHostMemory);

uint32_t sectors_between(mem::Address begin, mem::Address end) {
  return static_cast<uint32_t>((end + kSector - 1) / kSector - begin / kSector);
}

// 0 if a[l + kHalf] - a[l] == kHalf * bytes for all l below kHalf. Compilers vectorise this loop.
template <uint32_t kHalf>
uint64_t unlike(const mem::Address* a, uint64_t bytes) {
  uint64_t bad = 0;
  for (uint32_t l = 0; l < kHalf; ++l) bad |= (a[l + kHalf] - a[l]) ^ (kHalf * bytes);
  return bad;
}

// Lane l at a[0] + l * bytes, all lanes: the upper half follows the lower, and so on recursively.
bool is_contiguous(const mem::Address* a, uint64_t bytes) {
  if (a[kLanes - 1] - a[0] != (kLanes - 1) * bytes) return false;
  return (unlike<16>(a, bytes) | unlike<8>(a, bytes) | unlike<4>(a, bytes) | unlike<2>(a, bytes) |
          unlike<1>(a, bytes)) == 0;
}

// Sectors of one access. A Bloom filter in front, so that few of them are compared.
class SectorSet {
 public:
  // False: it is in the set already.
  bool insert(uint64_t sector) {
    const uint64_t hashed = sector * 0x9e3779b97f4a7c15 >> (64 - kLogBits);
    uint64_t& word = bits_[hashed / 64];
    const uint64_t bit = uint64_t{1} << hashed % 64;
    if ((word & bit) != 0 && std::find(all_, all_ + count_, sector) != all_ + count_) return false;
    word |= bit;
    all_[count_++] = sector;
    return true;
  }

 private:
  static constexpr uint32_t kLogBits = 10;
  uint64_t bits_[(1 << kLogBits) / 64] = {};
  uint64_t all_[kLanes];
  uint32_t count_ = 0;
};

struct Extent {
  mem::Address begin = 0, end = 0;
  uint32_t sectors = 0;
};

// Distinct sectors of `lanes`. Each lane's bytes are aligned to their size, if that is a sector or less.
Extent measure(const Access& access, Mask lanes) {
  const mem::Address* a = access.addresses;
  const uint64_t bytes = access.bytes;
  if (lanes == kAllLanes && is_contiguous(a, bytes)) {
    const mem::Address end = a[0] + kLanes * bytes;
    return {a[0], end, sectors_between(a[0], end)};
  }
  const mem::Address first = a[first_of(lanes)];
  Extent e{first, first + bytes, sectors_between(first, first + bytes)};
  if ((lanes & (lanes - 1)) == 0) return e;
  SectorSet seen;
  uint64_t last = first / kSector;
  seen.insert(last);
  for (Mask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const mem::Address at = a[first_of(rest)];
    e.begin = std::min(e.begin, at);
    e.end = std::max(e.end, at + bytes);
    if (bytes > kSector) {
      e.sectors += sectors_between(at, at + bytes);  // large pieces come one lane at a time
      continue;
    }
    if (at / kSector == last) continue;
    last = at / kSector;
    if (seen.insert(last)) ++e.sectors;
  }
  return e;
}

// The same in every run, unlike the warp's address.
uint64_t identity_of(const Warp& w) {
  const simt::Block& block = w.block();
  uint64_t mixed = block.grid().id * 0x9e3779b97f4a7c15 + block.index();
  mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9 + (uint64_t{block.device} << 32 | w.index());
  return (mixed ^ mixed >> 32) * 0x94d049bb133111eb | 1;
}

// False if nothing waits for the old value: a reduction, or an atomic that writes `_`.
bool has_result(const Warp& w, const simt::Inst& inst) { return ptx::has_result(simt::source_of(w, inst)); }

void wait_for_loads(Warp& w) { w.clock.now = std::max(w.clock.now, w.clock.loads); }

// Calls f(line) for the lines of `lanes`; equal lines in a row once.
template <class F>
void each_line(const Access& access, const mem::Window& window, Mask lanes, F f) {
  uint64_t last = ~uint64_t{0};
  const bool whole = lanes == kAllLanes && is_contiguous(access.addresses, access.bytes);
  const uint64_t bytes = whole ? kLanes * access.bytes : access.bytes;
  for (Mask rest = whole ? Mask{1} : lanes; rest != 0; rest &= rest - 1) {
    const uint64_t offset = access.addresses[first_of(rest)] - window.begin + window.offset;
    const uint64_t end = (offset + bytes - 1) / LineStamps::kLine;
    for (uint64_t line = offset / LineStamps::kLine; line <= end; ++line) {
      if (line != last) f(line);
      last = line;
    }
  }
}

}  // namespace

void MemoryClock::on_access(Warp& w, const Access& access) {
  if (access.lanes == 0) return;
  if (steps_ && is_strong(access.order)) steps_->take(w, access);
  if (running_ != &w) {
    running_ = &w;
    quantum_start_ = w.clock.now;
  }
  const mem::Address first = access.addresses[first_of(access.lanes)];
  if (!mem::is_global(first)) return not_global(w, access);
  const Extent e = measure(access, access.lanes);
  // An unmapped address faults right after this.
  const mem::Window* window = nullptr;
  if (access.proxy == Proxy::multimem || !w.find_global(first, 1)) {
    window = w.environment().global().find(first);
    if (!window) return;
  } else {
    window = w.window;
  }
  // An instruction is one release, however many peers its lanes write to.
  if (access.kind != AccessKind::load && access.proxy != Proxy::async) {
    wait_for_loads(w);
    release(w, access);
    if (history_) history_->note_write(w, access);
  }
  if (window->contains(e.begin, e.end - e.begin)) [[likely]] {
    charge(w, access, {window, access.lanes, e.sectors});
  } else {
    charge_by_window(w, access, access.lanes);
  }
  end_quantum_if_long(w);
}

// Lanes in different windows: one window after the other.
void MemoryClock::charge_by_window(Warp& w, const Access& access, Mask lanes) {
  // The load/store unit issues the instruction once for each window.
  const Time interval = fabric_->platform().issue_time();
  Time begin = w.clock.now, end = begin, arrival = 0;
  while (lanes != 0) {
    const mem::Window* window = w.environment().global().find(access.addresses[first_of(lanes)]);
    Mask here = 0;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const uint32_t l = first_of(rest);
      if (!window || window->contains(access.addresses[l], 1)) here |= Mask{1} << l;
    }
    if (!window) here = Mask{1} << first_of(lanes);
    if (window) {
      w.clock.now = begin;
      charge(w, access, {window, here, measure(access, here).sectors});
      end = std::max(end, w.clock.now);
      arrival = std::max(arrival, last_arrival_);
      begin += interval;
    }
    lanes &= ~here;
  }
  w.clock.now = end;
  last_arrival_ = arrival;
}

void MemoryClock::not_global(Warp& w, const Access& access) {
  const bool copies = access.kind == AccessKind::store && access.inst == last_load_;
  if (copies) {
    // A load from global memory and a store by the same instruction: cp.async. The machine performs the copy when it
    // has arrived, and nothing else waits for it.
    w.clock.loads = loads_before_;
  } else if (access.inst != last_async_ || &w != last_async_warp_) {
    // Shared memory: warps that it wakes continue at once, but no earlier than the value is there.
    last_arrival_ = std::max(w.clock.now, w.clock.loads);
  }
  last_load_ = nullptr;
}

void MemoryClock::charge(Warp& w, const Access& access, const Part& part) {
  if (part.window->multicast) return charge_multicast(w, access, part);
  const uint32_t owner = part.window->allocation->device;
  if (access.proxy == Proxy::async) return charge_async(w, access, part, owner);
  switch (access.kind) {
    case AccessKind::load:
      return charge_load(w, access, part, owner);
    case AccessKind::store:
      return charge_store(w, access, part, owner);
    case AccessKind::atomic:
      return charge_atomic(w, access, part, owner);
  }
}

void MemoryClock::charge_load(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  if (is_strong(access.order)) return charge_strong_load(w, access, part, owner);
  const auto trip = fabric_->read(w.block().device, w.block().sm, owner, part.sectors * kSector, w.clock.now);
  w.clock.now = std::max(w.clock.now, trip.issued);
  last_load_ = access.inst;
  loads_before_ = w.clock.loads;
  w.clock.loads = std::max(w.clock.loads, trip.back);
  last_arrival_ = trip.back;
}

void MemoryClock::charge_strong_load(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  const uint32_t device = w.block().device;
  if (history_) history_->note_read(w, access);
  const Time way = fabric_->way_back(device, owner);
  const Time stamp = stamps_.newest() == 0 ? 0 : newest_stamp(access, part);
  last_load_ = nullptr;
  // The simulator performs a load when it is issued, a real device when it has reached the owner. So a polling load
  // misses a store that arrives meanwhile, and the next load sees what this one should have seen: that one is free.
  const uint64_t warp = identity_of(w);
  Poll& poll = polls_[warp >> 54];
  const mem::Address address = access.addresses[first_of(access.lanes)];
  const bool again = poll.warp == warp && poll.address == address && w.clock.now >= poll.returned &&
                     w.clock.now - poll.returned <= kPollGap;
  if (again && stamp > poll.stamp && stamp + way <= w.clock.now) {
    last_arrival_ = w.clock.now;
  } else {
    const auto trip = fabric_->read(device, w.block().sm, owner, part.sectors * kSector, w.clock.now, true);
    last_arrival_ = w.clock.now = std::max({w.clock.now, trip.back, stamp + way});
  }
  poll = {warp, address, w.clock.now, stamp};
}

void MemoryClock::charge_store(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  const auto trip = fabric_->write(w.block().device, w.block().sm, owner, part.sectors * kSector, w.clock.now);
  w.clock.now = std::max(w.clock.now, trip.issued);
  w.clock.stores = std::max(w.clock.stores, trip.back);
  last_arrival_ = is_strong(access.order) ? stamp(access, part, trip.there) : trip.there;
}

void MemoryClock::charge_atomic(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  const uint32_t device = w.block().device;
  const auto trip = fabric_->atomic(device, w.block().sm, owner, part.sectors, w.clock.now);
  w.clock.now = std::max(w.clock.now, trip.issued);
  last_arrival_ = trip.there;
  if (has_result(w, *access.inst)) {
    // It has read the previous value: no earlier than that arrived.
    last_arrival_ = stamp(access, part, std::max(last_arrival_, newest_stamp(access, part)));
    w.clock.now = std::max({w.clock.now, trip.back, last_arrival_ + fabric_->way_back(device, owner)});
  } else {
    w.clock.stores = std::max(w.clock.stores, trip.back);
    last_arrival_ = stamp(access, part, last_arrival_);
  }
}

// A piece of a copy by the asynchronous copy unit.
void MemoryClock::charge_async(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  const Time before = access.inst == last_async_ && &w == last_async_warp_ ? last_arrival_ : 0;
  last_async_ = access.inst;
  last_async_warp_ = &w;
  const uint32_t device = w.block().device, sm = w.block().sm;
  const uint64_t bytes = part.sectors * kSector;
  if (access.kind == AccessKind::load) {
    last_arrival_ = std::max(before, fabric_->bulk_read(device, sm, owner, bytes, w.clock.now).back);
    return;
  }
  wait_for_loads(w);
  const auto trip = fabric_->bulk_write(device, sm, owner, bytes, w.clock.now);
  last_arrival_ = std::max(before, trip.there);
  w.clock.stores = std::max(w.clock.stores, trip.back);
}

void MemoryClock::charge_multicast(Warp& w, const Access& access, const Part& part) {
  if (!fabric_->platform().multicast.supported) return;
  members_.clear();
  for (const auto& member : part.window->multicast->members) members_.push_back(member.device);
  const uint32_t device = w.block().device, sm = w.block().sm;
  const uint64_t bytes = part.sectors * kSector;
  if (access.kind == AccessKind::load) {
    const auto trip = fabric_->multicast_reduce(device, sm, members_, bytes, w.clock.now);
    w.clock.now = std::max(w.clock.now, is_strong(access.order) ? trip.back : trip.issued);
    w.clock.loads = std::max(w.clock.loads, trip.back);
    last_arrival_ = trip.back;
    return;
  }
  const auto trip = access.kind == AccessKind::store
                        ? fabric_->multicast_write(device, sm, members_, bytes, w.clock.now)
                        : fabric_->multicast_atomic(device, sm, members_, bytes, w.clock.now);
  w.clock.now = std::max(w.clock.now, trip.issued);
  w.clock.stores = std::max(w.clock.stores, trip.back);
  last_arrival_ = trip.there;
  if (is_strong(access.order)) stamp_members(access, part, trip.there);
}

void MemoryClock::release(Warp& w, const Access& access) {
  if (!releases(access.order) || access.scope < Scope::gpu) return;
  const auto& costs = fabric_->platform().fence;
  // A round trip behind the stores in flight: it returns when they do, or later.
  w.clock.now = std::max(w.clock.now + (access.scope == Scope::sys ? costs.system : costs.device), w.clock.stores);
}

Time MemoryClock::stamp(const Access& access, const Part& part, Time arrival) {
  const mem::Allocation& allocation = *part.window->allocation;
  const Time interval = fabric_->platform().memory.same_line_interval;
  Time last = arrival;
  each_line(access, *part.window, part.lanes, [&](uint64_t line) {
    const Time done = stamps_.serialise(allocation, line, arrival, interval);
    last = std::max(last, done);
  });
  return last;
}

void MemoryClock::stamp_members(const Access& access, const Part& part, Time arrival) {
  for (const auto& member : part.window->multicast->members) {
    each_line(access, *part.window, part.lanes, [&](uint64_t line) {
      const uint64_t offset = line * LineStamps::kLine;
      const auto* piece = member.piece_at(offset);
      if (!piece || !piece->allocation) return;
      const auto within =
          static_cast<uint64_t>(piece->host - piece->allocation->bytes.get()) + (offset - piece->offset);
      stamps_.set(*piece->allocation, within / LineStamps::kLine, arrival);
    });
  }
}

Time MemoryClock::newest_stamp(const Access& access, const Part& part) const {
  Time newest = 0;
  const mem::Allocation& allocation = *part.window->allocation;
  each_line(access, *part.window, part.lanes,
            [&](uint64_t line) { newest = std::max(newest, stamps_.find(allocation, line)); });
  return newest;
}

void MemoryClock::end_quantum_if_long(Warp& w) {
  if (w.clock.now < quantum_start_ + kQuantum) return;
  running_ = nullptr;
  w.preempt();
}

void MemoryClock::on_sync(Warp& w, const simt::Sync& sync) {
  using simt::SyncKind;
  // A wait for copies ends when they complete.
  if (sync.kind == SyncKind::async_commit || sync.kind == SyncKind::async_wait) return;
  last_load_ = nullptr;
  if (steps_) steps_->take(w, sync);
  switch (sync.kind) {
    case simt::SyncKind::fence: {
      wait_for_loads(w);
      const auto& costs = fabric_->platform().fence;
      if (sync.scope < Scope::gpu) {
        w.clock.now += costs.block;
        break;
      }
      w.clock.now += sync.scope == Scope::sys ? costs.system : costs.device;
      if (sync.order != MemoryOrder::acquire) w.clock.now = std::max(w.clock.now, w.clock.stores);
      break;
    }
    case simt::SyncKind::block_arrive:
    case simt::SyncKind::cluster_arrive:
    case simt::SyncKind::mbarrier_arrive:
      wait_for_loads(w);
      last_arrival_ = w.clock.now;
      break;
    case simt::SyncKind::block_release:
    case simt::SyncKind::warp:
    case simt::SyncKind::cluster_release:
    case simt::SyncKind::mbarrier_wait:
    case simt::SyncKind::async_commit:
    case simt::SyncKind::async_wait:
      break;
  }
  if (running_ == &w) end_quantum_if_long(w);
}

void MemoryClock::on_warp_exit(Warp& w) {
  wait_for_loads(w);
  if (running_ == &w) running_ = nullptr;
  last_load_ = nullptr;
}

}  // namespace fb::machine
