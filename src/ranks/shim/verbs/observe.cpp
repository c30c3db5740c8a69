#include "ranks/shim/verbs/observe.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <vector>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/where/where.h"

namespace fb::shim::verbs {

Bounds bounds;

namespace {

using Access = wire::VerbsAccess;
using Kind = Access::Kind;

struct Range {
  uintptr_t begin = 0, end = 0;
};

struct Slot {
  std::atomic<uint64_t> address, info;
};
static_assert(sizeof(Slot) == sizeof(Access));
constexpr uint64_t kSlots = 16384;

// A slot that the machine may not have taken yet.
struct Open {
  uint64_t slot = 0, begin = 0, end = 0, info = 0;
};

struct State {
  std::mutex mutex;
  std::vector<Range> ranges;  // registered, in no order; some twice
  Slot* ring = nullptr;
  uint64_t head = 0;
  Open open[4];
  size_t next_open = 0;
  std::map<const void*, uint32_t> lines;
};
State& state() {
  static auto* const s = new State;
  return *s;
}
std::atomic<bool> wanted{false};  // by the machine
std::atomic<bool> is_instrumented{false};

// Of the thread's last load that the machine was asked about.
struct Seen {
  const void* at = nullptr;
  uint64_t value = 0;
  bool is_known = false;
};
thread_local Seen seen;
// Relaxed stores behind a fence release.
thread_local bool has_released = false;

// What this library does itself is not looked at.
thread_local bool is_busy = false;
struct Busy {
  Busy() { is_busy = true; }
  ~Busy() { is_busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

void set_bounds(const State& s) {
  uintptr_t low = ~uintptr_t{0}, high = 0;
  for (const Range& r : s.ranges) {
    low = std::min(low, r.begin);
    high = std::max(high, r.end);
  }
  bounds.low = low;
  bounds.high = high;
}

// Programs that were not built for this report nothing.
void make_ring(State& s) {
  if (!is_instrumented.load(std::memory_order_relaxed)) return;
  void* const memory = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t token = 0;
  if (memory == MAP_FAILED || fabricbench_share(memory, kSlots * sizeof(Slot), &token) != 0) return;
  s.ring = static_cast<Slot*>(memory);
  // MPI talks through memory that it shares.
  const bool is_hidden =
      dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr || dlsym(RTLD_DEFAULT, "MPI_Init_thread") != nullptr;
  wire::VerbsResult result;
  wanted = ask<wire::Kind::verbs_observe>({.address = reinterpret_cast<uint64_t>(memory),
                                           .slots = static_cast<uint32_t>(kSlots),
                                           .hidden = is_hidden ? 1u : 0u},
                                          result) &&
           result.error == 0 && result.value != 0;
}

// Memory of a GPU is not there for the host's code, and would only make the bounds wider.
bool is_of_host(uintptr_t address) {
  // Without effect but for its error; sandboxes refuse mincore().
  constexpr uintptr_t kPage = 4096;
  return msync(reinterpret_cast<void*>(address / kPage * kPage), 1, MS_ASYNC) == 0;
}

// The number of a line of the program; the machine is told of new ones.
uint32_t line_at(State& s, const void* return_address) {
  const auto [found, fresh] = s.lines.try_emplace(return_address, static_cast<uint32_t>(s.lines.size() + 1));
  if (fresh) {
    wire::VerbsLine request{.number = found->second};
    line_of_call(return_address, "infiniband/verbs.h", request.where);
    wire::Empty reply;
    ask<wire::Kind::verbs_line>(request, reply);
  }
  return found->second;
}

void push(State& s, Kind kind, uint32_t line, uint64_t address, uint32_t bytes) {
  Slot& slot = s.ring[s.head % kSlots];
  if (slot.info.load(std::memory_order_acquire) != 0) {
    // Full: any request empties it.
    wire::VerbsResult result;
    if (!ask<wire::Kind::verbs_observe>({}, result)) return;
    if (slot.info.load(std::memory_order_acquire) != 0) return;
  }
  const uint64_t info = Access::pack(kind, line, bytes);
  slot.address.store(address, std::memory_order_relaxed);
  slot.info.store(info, std::memory_order_release);
  if (kind == Kind::load || kind == Kind::store) {
    s.open[s.next_open++ % std::size(s.open)] = {s.head % kSlots, address, address + bytes, info};
  } else {
    // What comes behind it must not become a part of what was before.
    for (Open& o : s.open) o = {};
    s.open[0] = {s.head % kSlots, 0, 0, info};
  }
  ++s.head;
}

// One more of the accesses of a line that follow each other in memory.
bool extend(State& s, Kind kind, uint32_t line, uint64_t begin, uint64_t end) {
  for (Open& o : s.open) {
    if (o.info == 0 || Access::kind_of(o.info) != kind || Access::line_of(o.info) != line) continue;
    if (begin < o.begin || begin > o.end || end - o.begin > UINT32_MAX) continue;
    uint64_t known = o.info;
    const uint64_t longer = Access::pack(kind, line, static_cast<uint32_t>(std::max(end, o.end) - o.begin));
    if (!s.ring[o.slot].info.compare_exchange_strong(known, longer)) {
      o = {};  // taken
      continue;
    }
    o.info = longer;
    o.end = std::max(end, o.end);
    return true;
  }
  return false;
}

// The same for all processes, and not the program's clock, which may be virtual.
uint64_t real_time() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void note_contact(Kind kind) {
  if (!wanted.load(std::memory_order_relaxed) || is_busy) return;
  State& s = state();
  const Busy busy;
  const std::lock_guard lock(s.mutex);
  // To tell twice in a row tells nothing new, until the machine has taken the first.
  const Open& last = s.open[0];
  if (kind == Kind::talk && last.info != 0 && Access::kind_of(last.info) == kind &&
      last.slot == (s.head - 1) % kSlots && s.ring[last.slot].info.load(std::memory_order_acquire) == last.info)
    return;
  push(s, kind, 0, real_time(), 0);
}

}  // namespace

void observe(const void* begin, size_t bytes) {
  State& s = state();
  const Busy busy;
  const std::lock_guard lock(s.mutex);
  if (!s.ring) make_ring(s);
  const auto at = reinterpret_cast<uintptr_t>(begin);
  if (!is_of_host(at)) return;
  s.ranges.push_back({at, at + bytes});
  set_bounds(s);
}

void forget(const void* begin, size_t bytes) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const auto found =
      std::ranges::find_if(s.ranges, [&](const Range& r) { return r.begin == at && r.end == at + bytes; });
  if (found != s.ranges.end()) s.ranges.erase(found);
  set_bounds(s);
}

void note_access(const void* at, size_t bytes, bool writes, const void* return_address) {
  if (!wanted.load(std::memory_order_relaxed) || !bounds.touches(at, bytes)) return;
  State& s = state();
  const Busy busy;
  const std::lock_guard lock(s.mutex);
  const auto first = reinterpret_cast<uintptr_t>(at);
  const Kind kind = writes ? Kind::store : Kind::load;
  for (const Range& r : s.ranges) {
    const uintptr_t begin = std::max(first, r.begin), end = std::min(first + bytes, r.end);
    if (begin >= end) continue;
    const uint32_t line = line_at(s, return_address);
    if (!extend(s, kind, line, begin, end)) push(s, kind, line, begin, static_cast<uint32_t>(end - begin));
    if (end - begin == bytes) return;
  }
}

void note_instrumented() { is_instrumented = true; }
void note_talk() { note_contact(Kind::talk); }
void note_hear() { note_contact(Kind::hear); }

bool look(const Look& l, const void* return_address) {
  if (!bounds.touches(l.at, l.bytes)) return false;
  const Busy busy;
  wire::VerbsLook request{.address = reinterpret_cast<uint64_t>(l.at), .kind = l.kind, .bytes = l.bytes};
  {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    const auto begin = reinterpret_cast<uintptr_t>(l.at);
    const auto is_inside = [&](const Range& r) { return begin >= r.begin && begin + l.bytes <= r.end; };
    if (std::ranges::none_of(s.ranges, is_inside)) return false;
    request.line = line_at(s, return_address);
  }
  request.acquires = l.acquires;
  request.releases = l.releases || has_released;
  if (l.kind == wire::VerbsLook::Kind::load && seen.is_known && seen.at == l.at) {
    request.again = 1;
    request.seen = seen.value;
  }
  seen.is_known = false;
  seen.at = l.at;
  wire::VerbsResult result;
  ask<wire::Kind::verbs_look>(request, result);
  return true;
}

void note_seen(const void* at, uint64_t value) {
  if (seen.at != at) return;
  seen.is_known = true;
  seen.value = value;
}

void fence(bool acquires, bool releases) {
  has_released |= releases;
  if (!acquires || !wanted.load(std::memory_order_relaxed)) return;
  wire::VerbsResult result;
  ask<wire::Kind::verbs_look>({.kind = wire::VerbsLook::Kind::fence, .acquires = 1}, result);
}

}  // namespace fb::shim::verbs
