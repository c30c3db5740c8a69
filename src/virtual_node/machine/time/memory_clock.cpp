#include "virtual_node/machine/time/memory_clock.h"

#include <algorithm>
#include <bit>

#include "common/ptx/traits.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/shared_banks.h"

namespace fb::machine {
namespace {

using platform::Group;
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

// A quantum ends after this much virtual time, so that warps with earlier clocks catch up.
constexpr Time kQuantum = platform::kMicrosecond;

// The longest time between two loads of one polling loop.
constexpr Time kPollGap = 200 * platform::kNanosecond;

static_assert(platform::kHost == mem::kHostMemory);

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
  bool contiguous = false;
};

// Calls f(line, sectors) for the lines of an access, by offset in the allocation; a line may come twice.
template <class F>
void each_cache_line(const Access& access, const mem::Window& window, Mask lanes, bool contiguous, F f) {
  const uint64_t bytes = contiguous ? kLanes * uint64_t{access.bytes} : access.bytes;
  uint64_t line = ~uint64_t{0};
  uint32_t sectors = 0;
  for (Mask rest = contiguous ? Mask{1} : lanes; rest != 0; rest &= rest - 1) {
    const uint64_t begin = access.addresses[first_of(rest)] - window.begin + window.offset;
    const uint64_t last = (begin + bytes - 1) / kSector;
    for (uint64_t s = begin / kSector; s <= last; ++s) {
      if (s / 4 != line) {
        if (sectors != 0) f(line, sectors);
        line = s / 4;
        sectors = 0;
      }
      sectors |= 1u << s % 4;
    }
  }
  if (sectors != 0) f(line, sectors);
}

// Accesses to more sectors than this are looked up in part.
constexpr uint32_t kManySectors = 16;

// Distinct sectors of `lanes`. Each lane's bytes are aligned to their size, if that is a sector or less.
Extent measure(const Access& access, Mask lanes) {
  const mem::Address* a = access.addresses;
  const uint64_t bytes = access.bytes;
  if (lanes == kAllLanes && is_contiguous(a, bytes)) {
    const mem::Address end = a[0] + kLanes * bytes;
    return {a[0], end, sectors_between(a[0], end), true};
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

// Why the clock has moved at an access.
ProfileCause cause_of(const Access& access, bool remote) {
  if (access.kind == AccessKind::atomic) return ProfileCause::atomic;
  if (access.kind == AccessKind::store) return ProfileCause::stores;
  if (is_strong(access.order)) return ProfileCause::flag;
  return remote ? ProfileCause::link : ProfileCause::memory;
}

ProfileCause cause_of(const simt::Sync& sync) {
  switch (sync.kind) {
    case simt::SyncKind::fence:
      return ProfileCause::fence;
    case simt::SyncKind::mbarrier_wait:
    case simt::SyncKind::mbarrier_arrive:
      return ProfileCause::copy;
    default:
      return ProfileCause::barrier;
  }
}

}  // namespace

MemoryClock::MemoryClock(fabric::Fabric& fabric)
    : fabric_(&fabric), shares_(fabric.shares()), multiprocessors_(fabric.platform()) {
  sees_local_loads = false;
  const platform::Platform& p = fabric.platform();
  cycle_ = p.cycle();
  l2_.reserve(p.devices());
  for (uint32_t d = 0; d < p.devices(); ++d) l2_.emplace_back(p.memory.l2_size);
}

// What moves a warp's clock. Instructions move it, too, without a word: that is known when it is next looked at.

void MemoryClock::account(Warp& w) {
  if (w.clock.now == w.clock.tracked_until) return;
  shares_.add(w.clock.tracked_until, w.clock.now, Group::issue);
  w.clock.tracked_until = w.clock.now;
}

void MemoryClock::spend(Warp& w, Time time, Group group) {
  account(w);
  w.clock.now = w.clock.tracked_until = shares_.later(w.clock.now, time, group);
}

void MemoryClock::wait_until(Warp& w, Time time) {
  if (time <= w.clock.now) return;
  account(w);
  w.clock.now = w.clock.tracked_until = time;
}

Time MemoryClock::reserve(UnitCalendar& unit, Time at, uint32_t busy) {
  const Time end = unit.reserve(at, busy);
  shares_.add(unit.period, {at, at + busy, end, busy}, Group::issue);
  return end;
}

void MemoryClock::on_access(Warp& w, const Access& access) {
  if (access.lanes == 0) return;
  account(w);
  if (steps_ && is_strong(access.order)) steps_->take(w, access);
  if (running_ != &w) {
    running_ = &w;
    quantum_start_ = w.clock.now;
  }
  const mem::Address first = access.addresses[first_of(access.lanes)];
  if (profiler_) profiler_->catch_up(w);
  if (!mem::is_global(first)) {
    not_global(w, access);
    if (profiler_) profiler_->book(w, access.inst, ProfileCause::dependence);
    return;
  }
  charge_global(w, access, first);
  if (profiler_) {
    const mem::Window* window = w.window;
    const bool remote = window && window->allocation && window->allocation->device != w.block().device;
    profiler_->book(w, access.inst, cause_of(access, remote));
    profiler_->waits(w, access.inst, access.proxy == Proxy::async ? ProfileCause::copy : ProfileCause::flag);
  }
  end_quantum_if_long(w);
}

void MemoryClock::charge_global(Warp& w, const Access& access, mem::Address first) {
  const Extent e = measure(access, access.lanes);
  // An unmapped address faults right after this.
  const mem::Window* window = nullptr;
  if (access.proxy == Proxy::multimem || !w.find_global(first, 1)) {
    window = w.environment().global().find(first);
    if (!window) return;
  } else {
    window = w.window;
  }
  if (history_ && access.kind != AccessKind::load && access.proxy != Proxy::async) history_->note_write(w, access);
  if (window->contains(e.begin, e.end - e.begin)) [[likely]] {
    charge(w, access, {window, access.lanes, e.sectors, e.contiguous});
  } else {
    charge_by_window(w, access, access.lanes);
  }
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
      w.clock.now = w.clock.tracked_until = begin;
      charge(w, access, {window, here, measure(access, here).sectors});
      end = std::max(end, w.clock.now);
      arrival = std::max(arrival, last_arrival_);
      begin = shares_.later(begin, interval, Group::issue);
    }
    lanes &= ~here;
  }
  w.clock.now = w.clock.tracked_until = end;
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
    if (access.proxy == Proxy::generic) charge_shared(w, access);
  }
  last_load_ = nullptr;
}

// By a generic address, or by one of the cluster; and read-modify-writes, which spans do not wait for.
void MemoryClock::charge_shared(Warp& w, const Access& access) {
  const auto& shared = fabric_->platform().shared;
  const auto rank =
      static_cast<uint32_t>(access.addresses[first_of(access.lanes)] - mem::kSharedWindow) >> mem::kClusterShift;
  const bool remote = rank != 0 && rank - 1 != w.block().rank_in_cluster;
  const Time latency = (remote ? shared.cluster_latency : shared.latency) * cycle_;
  if (remote) {
    const uint64_t bytes = uint64_t{access.bytes} * static_cast<uint32_t>(std::popcount(access.lanes));
    w.clock.occupied[static_cast<size_t>(simt::Part::load_store)] +=
        static_cast<uint32_t>(bytes * cycle_ / shared.cluster_width);
  }
  if (access.inst->slot != simt::kNoSlot)
    w.clock.slots[access.inst->slot] = shares_.later(w.clock.now, latency, Group::issue);
  if (access.kind == AccessKind::atomic) spend(w, latency, Group::issue);
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
  if (!part.contiguous && access.inst->slot != simt::kNoSlot) charge_scattered(w, access, part);
  const Misses misses = look_up(w, access, part, owner);
  Time back = shares_.later(w.clock.now, fabric_->platform().cache.l1_latency * cycle_, Group::issue);
  if (misses.l1 != 0) {
    const uint32_t device = w.block().device, sm = w.block().sm;
    const uint64_t bytes = misses.l1 * kSector;
    const auto trip = fabric_->read(device, sm, owner, {bytes, misses.l2 * kSector}, w.clock.now);
    wait_until(w, trip.issued);
    back = std::max(back, through_port(w, bytes, trip));
  }
  last_load_ = access.inst;
  loads_before_ = w.clock.loads;
  w.clock.loads = std::max(w.clock.loads, back);
  if (access.inst->slot != simt::kNoSlot) w.clock.slots[access.inst->slot] = back;
  if (profiler_) {
    profiler_->loaded(w, *access.inst,
                      owner != w.block().device ? ProfileCause::link
                      : misses.l2 != 0          ? ProfileCause::memory
                      : misses.l1 != 0          ? ProfileCause::l2
                                                : ProfileCause::l1);
  }
  last_arrival_ = back;
}

Time MemoryClock::through_port(const Warp& w, uint64_t bytes, const fabric::Trip& trip) {
  const auto& cache = fabric_->platform().cache;
  const auto busy = static_cast<uint32_t>(bytes * cycle_ / cache.l2_width);
  // By the time of the request: answers of a saturated memory are further apart than the port's calendar reaches.
  const Time served = reserve(multiprocessors_.of(w.block()).l2_port, trip.issued, busy);
  const Time back = served + cache.l2_latency;
  return back > trip.back ? shares_.later(served, cache.l2_latency, Group::latency) : trip.back;
}

MemoryClock::Misses MemoryClock::look_up(const Warp& w, const Access& access, const Part& part, uint32_t owner) {
  // Memory of the host is not cached.
  if (owner == platform::kHost) return {part.sectors, 0};
  Multiprocessor& sm = multiprocessors_.of(w.block());
  L2Cache& l2 = l2_[owner];
  const mem::Allocation& allocation = *part.window->allocation;
  // A line of another kernel, or from before the last acquire, is another line.
  const uint64_t kernel = (w.block().grid().id * 0x9e3779b97f4a7c15 ^ sm.acquired) * 0xd6e8feb86659fd93 ^
                          uint64_t { allocation.id } << 20 ^ allocation.device;
  const bool past_l1 = access.inst->past_l1;
  Misses misses;
  if (part.sectors > kManySectors && !part.contiguous && access.bytes <= kSector) {
    uint32_t looked_up = 0;
    const uint64_t base = part.window->offset - part.window->begin;
    for (Mask rest = part.lanes; rest != 0; rest &= rest - 1) {
      const uint64_t offset = access.addresses[first_of(rest)] + base;
      const uint64_t line = offset / kCacheLine;
      if (!L1Cache::is_sampled(kernel + line)) continue;
      ++looked_up;
      if (!past_l1 && sm.l1.miss(kernel + line, 1u << offset / kSector % 4) == 0) continue;
      ++misses.l1;
      if (l2.read(allocation, line, L1Cache::kSampled)) ++misses.l2;
    }
    Sampled& last = sampled_[access.inst->origin % sampled_.size()];
    if (looked_up != 0) last = {misses, looked_up};
    return {last.misses.l1 * part.sectors / last.looked_up, last.misses.l2 * part.sectors / last.looked_up};
  }
  each_cache_line(access, *part.window, part.lanes, part.contiguous, [&](uint64_t line, uint32_t sectors) {
    const uint32_t missing = past_l1 ? sectors : sm.l1.miss(kernel + line, sectors);
    if (missing == 0) return;
    const auto count = static_cast<uint32_t>(std::popcount(missing));
    misses.l1 += count;
    if (l2.read(allocation, line)) misses.l2 += count;
  });
  return {std::min(misses.l1, part.sectors), std::min(misses.l2, part.sectors)};
}

uint32_t MemoryClock::misses_of_l2(const Access& access, const Part& part, uint32_t owner, bool writes) {
  if (owner == platform::kHost) return 0;
  L2Cache& l2 = l2_[owner];
  const mem::Allocation& allocation = *part.window->allocation;
  uint32_t missing = 0;
  each_cache_line(access, *part.window, part.lanes, part.contiguous, [&](uint64_t line, uint32_t sectors) {
    const bool misses = writes ? l2.write(allocation, line) : l2.read(allocation, line);
    if (misses) missing += static_cast<uint32_t>(std::popcount(sectors));
  });
  return std::min(missing, part.sectors);
}

void MemoryClock::charge_scattered(Warp& w, const Access& access, const Part& part) {
  const simt::Program& program = w.program();
  if (!program.bank_samples) return;
  simt::BankSample& s = (*program.bank_samples)[static_cast<size_t>(access.inst - program.code.data())];
  if (simt::is_due(s)) {
    uint32_t lines = 0;
    each_cache_line(access, *part.window, part.lanes, false, [&](uint64_t, uint32_t) { ++lines; });
    // Loads find 3.4 lines in a cycle, and their words come from 32 banks. Stores leave line by line, two cycles each:
    // as much as public ladders of transposes say.
    const uint32_t cycles =
        access.kind == AccessKind::store
            ? 2 * lines
            : std::max(simt::shared_cycles(access.addresses, part.lanes, access.bytes), (lines * 10 + 33) / 34);
    const uint32_t least = std::max(access.bytes / 4u, 1u);
    s.extra = static_cast<uint16_t>(cycles - std::min(cycles, least));
  }
  w.clock.occupied[static_cast<size_t>(simt::Part::load_store)] += s.extra * static_cast<uint32_t>(cycle_);
}

void MemoryClock::charge_strong_load(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  const uint32_t device = w.block().device;
  if (history_) history_->note_read(w, access);
  if (access.order == MemoryOrder::acquire && access.scope >= Scope::gpu) ++multiprocessors_.of(w.block()).acquired;
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
    // A loop that polls finds the flag half a poll after its arrival, on average; one that slept takes a whole one.
    const Time late = again && stamp > poll.stamp ? (trip.back - trip.issued) / 2 : 0;
    const Time seen = stamp + way + late;
    wait_until(w, std::max(trip.back, seen > trip.back ? shares_.later(stamp, way + late, Group::latency) : seen));
    last_arrival_ = w.clock.now;
  }
  poll = {warp, address, w.clock.now, stamp};
}

void MemoryClock::charge_store(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  if (!part.contiguous) charge_scattered(w, access, part);
  const uint64_t memory = misses_of_l2(access, part, owner, true) * kSector;
  const auto trip =
      fabric_->write(w.block().device, w.block().sm, owner, {part.sectors * kSector, memory}, w.clock.now);
  wait_until(w, trip.issued);
  w.clock.stores = std::max(w.clock.stores, trip.back);
  last_arrival_ = is_strong(access.order) ? stamp(access, part, trip.there) : trip.there;
}

void MemoryClock::charge_atomic(Warp& w, const Access& access, const Part& part, uint32_t owner) {
  const uint32_t device = w.block().device;
  const auto trip = fabric_->atomic(device, w.block().sm, owner, part.sectors, w.clock.now);
  wait_until(w, trip.issued);
  last_arrival_ = trip.there;
  if (has_result(w, *access.inst)) {
    // It has read the previous value: no earlier than that arrived.
    last_arrival_ = stamp(access, part, std::max(last_arrival_, newest_stamp(access, part)));
    wait_until(w, std::max(trip.back, shares_.later(last_arrival_, fabric_->way_back(device, owner), Group::latency)));
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
  const fabric::Bytes bytes(part.sectors * kSector,
                            misses_of_l2(access, part, owner, access.kind != AccessKind::load) * kSector);
  if (before == 0) last_async_in_memory_ = false;
  if (access.kind == AccessKind::load) {
    last_async_in_memory_ |= bytes.memory != 0 || owner != device;
    const auto trip = fabric_->bulk_read(device, sm, owner, bytes, w.clock.now);
    last_arrival_ = std::max(before, through_port(w, bytes.all, trip));
    return;
  }
  last_async_in_memory_ = true;
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
    wait_until(w, is_strong(access.order) ? trip.back : trip.issued);
    w.clock.loads = std::max(w.clock.loads, trip.back);
    last_arrival_ = trip.back;
    return;
  }
  const auto trip = access.kind == AccessKind::store
                        ? fabric_->multicast_write(device, sm, members_, bytes, w.clock.now)
                        : fabric_->multicast_atomic(device, sm, members_, bytes, w.clock.now);
  wait_until(w, trip.issued);
  w.clock.stores = std::max(w.clock.stores, trip.back);
  last_arrival_ = trip.there;
  if (is_strong(access.order)) stamp_members(access, part, trip.there);
}

// A round trip behind the stores in flight: it returns when they do, or later. An instruction is one release, however
// many peers its lanes write to.
void MemoryClock::on_release(Warp& w, const simt::Inst& write) {
  if (profiler_) profiler_->catch_up(w);
  on_units(w);
  const auto& costs = fabric_->platform().fence;
  spend(w, simt::scope_of(write) == Scope::sys ? costs.system : costs.device, Group::latency);
  wait_until(w, w.clock.stores);
  if (profiler_) profiler_->book(w, &write, ProfileCause::fence);
  end_quantum(w);
}

Time MemoryClock::stamp(const Access& access, const Part& part, Time arrival) {
  const mem::Allocation& allocation = *part.window->allocation;
  const Time interval = fabric_->platform().memory.same_line_interval;
  Time last = arrival;
  each_line(access, *part.window, part.lanes, [&](uint64_t line) {
    const Time done = stamps_.serialise(allocation, line, arrival, interval);
    if (done != arrival) shares_.add(done - interval, done, Group::latency);
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
  if (w.clock.now >= quantum_start_ + kQuantum) end_quantum(w);
}

void MemoryClock::end_quantum(Warp& w) {
  if (running_ == &w) running_ = nullptr;
  w.preempt();
}

void MemoryClock::profile(const DeviceLimits& limits) { profiler_ = std::make_unique<Profiler>(limits); }

void MemoryClock::on_warp_start(Warp& w) {
  w.clock.tracked_until = w.clock.now;
  w.clock.tracked = shares_.is_active();
  if (profiler_) profiler_->begin(w);
}

void MemoryClock::on_units(Warp& w) {
  account(w);
  const auto settled = multiprocessors_.settle(w, shares_);
  if (profiler_) profiler_->units(w, std::max(w.clock.now, settled.end), settled.slowest);
  wait_until(w, settled.end);
  w.clock.settled = w.clock.now;
  w.clock.occupied = {};
}

// The last warp that arrives releases the others, so that its clock is theirs.
void MemoryClock::barrier(Warp& w, bool cluster, bool ordered) {
  const auto& costs = fabric_->platform().fence;
  Time cycles = costs.barrier + costs.barrier_per_warp * w.block().warps().size();
  if (cluster) cycles = fabric_->platform().shared.cluster_latency / 2 + (ordered ? costs.cluster : 0);
  spend(w, cycles * cycle_, Group::issue);
}

Time MemoryClock::complete_product(const simt::AsyncCopy& copy) {
  const platform::Platform& p = fabric_->platform();
  const simt::Product& product = copy.product;
  const Warp& w = *copy.warp;
  // A warp's share of a wgmma is computed by its own scheduler, a tcgen05.mma by all of them.
  const bool of_warp = copy.kind == simt::GroupKind::wgmma;
  constexpr uint64_t kDepth = 16;  // 32 bytes of bf16; other types are as fast in bytes
  constexpr uint64_t kRow = 32;
  const uint64_t rate = of_warp ? p.tensor.products / Multiprocessor::kSchedulers : p.tensor.products;
  const uint64_t compute = uint64_t{product.rows} * product.columns * kDepth * cycle_ / rate;
  const uint64_t bytes = (product.a_in_shared ? product.shared_rows * kRow : 0) + product.columns * kRow;
  const auto busy = static_cast<uint32_t>(std::max(compute, bytes * cycle_ / p.shared.width));
  const uint32_t scheduler = of_warp ? scheduler_of(w) : 0;
  Time done = reserve(multiprocessors_.of(w.block()).tensor(scheduler), w.clock.now, busy);
  if (copy.other) done = std::max(done, reserve(multiprocessors_.of(*copy.other).tensor(scheduler), w.clock.now, busy));
  return shares_.later(done, p.tensor.async_latency * cycle_, Group::issue);
}

Time MemoryClock::arrival_of(const simt::AsyncCopy& copy) {
  const platform::Platform& p = fabric_->platform();
  simt::WarpClock& clock = copy.warp->clock;
  account(*copy.warp);
  if (copy.product.rows != 0) {
    const Time done = complete_product(copy);
    clock.products = std::max(clock.products, done);
    return done;
  }
  if (copy.behind_products) return std::max(clock.now, clock.products);
  if (copy.inst == last_async_ && copy.warp == last_async_warp_) {
    // The copy unit takes some time of its own.
    const Time unit = p.memory.async_latency - std::min(p.memory.async_latency, p.memory.latency);
    const Time least = unit + (last_async_in_memory_ ? p.memory.latency : p.cache.l2_latency);
    return clock.now + least > last_arrival_ ? shares_.later(clock.now, least, Group::latency) : last_arrival_;
  }
  if (copy.kind == simt::GroupKind::plain) return std::max(clock.now, last_arrival_);
  return std::max(shares_.later(clock.now, p.shared.copy_latency * cycle_, Group::issue), last_arrival_);
}

void MemoryClock::on_sync(Warp& w, const simt::Sync& sync) {
  using simt::SyncKind;
  // A wait for copies ends when they complete.
  if (sync.kind == SyncKind::async_commit || sync.kind == SyncKind::async_wait) {
    if (profiler_) profiler_->waits(w, sync.inst, ProfileCause::copy);
    return;
  }
  if (sync.kind == SyncKind::mbarrier_wait && sync.lanes == 0) {
    if (profiler_) profiler_->waits(w, sync.inst, ProfileCause::copy);
    if (by_time_) w.look_again_later();
    return;
  }
  last_load_ = nullptr;
  if (profiler_) profiler_->catch_up(w);
  on_units(w);
  if (steps_) steps_->take(w, sync);
  synchronise(w, sync);
  if (profiler_) {
    profiler_->book(w, sync.inst, cause_of(sync));
    profiler_->waits(w, sync.inst, cause_of(sync));
  }
  if (running_ == &w) end_quantum_if_long(w);
}

void MemoryClock::synchronise(Warp& w, const simt::Sync& sync) {
  switch (sync.kind) {
    case simt::SyncKind::fence: {
      wait_until(w, w.clock.loads);
      const auto& costs = fabric_->platform().fence;
      if (sync.scope < Scope::gpu) {
        spend(w, costs.block, Group::latency);
        break;
      }
      spend(w, sync.scope == Scope::sys ? costs.system : costs.device, Group::latency);
      if (sync.order != MemoryOrder::acquire) {
        wait_until(w, w.clock.stores);
        end_quantum(w);
      }
      ++multiprocessors_.of(w.block()).acquired;
      break;
    }
    case simt::SyncKind::block_arrive:
      barrier(w, false, true);
      last_arrival_ = w.clock.now;
      break;
    case simt::SyncKind::cluster_arrive:
      barrier(w, true, sync.order != MemoryOrder::relaxed);
      last_arrival_ = w.clock.now;
      break;
    case simt::SyncKind::mbarrier_arrive:
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
}

void MemoryClock::on_warp_exit(Warp& w) {
  if (w.clock.occupied != simt::PartTimes{}) on_units(w);
  account(w);
  if (profiler_) profiler_->end(w);
  if (running_ == &w) running_ = nullptr;
  last_load_ = nullptr;
}

}  // namespace fb::machine
