#include "virtual_node/machine/libraries/verbs/host_accesses.h"

#include <atomic>
#include <cstring>
#include <utility>

namespace fb::machine {

using wire::VerbsAccess;
using AccessKind = VerbsAccess::Kind;

bool HostAccesses::observe(Process& process, const wire::VerbsObserve& m) {
  constexpr uint64_t kMostSlots = 1 << 20;
  if (!node_.checking || m.slots == 0 || m.slots > kMostSlots) return false;
  const mem::Window* const window = process.all.find(m.address);
  const uint64_t bytes = m.slots * sizeof(VerbsAccess);
  if (!window || !window->host || m.address % alignof(VerbsAccess) != 0 || !window->contains(m.address, bytes))
    return false;
  Ring& ring = rings_[process.number];
  ring.process = &process;
  ring.slots = reinterpret_cast<VerbsAccess*>(window->host + (m.address - window->begin));
  ring.memory = window->allocation;
  ring.count = m.slots;
  ring.next = 0;
  ring.is_hidden = m.hidden != 0;
  node_.checking->observe_host(process.number);
  return true;
}

void HostAccesses::name_line(const Process& process, const wire::VerbsLine& m) {
  constexpr uint32_t kMostLines = 1 << 16;
  if (m.number >= kMostLines) return;
  std::string text(m.where, strnlen(m.where, sizeof m.where));
  lines_[process.number][m.number] = text;
  const auto found = rings_.find(process.number);
  if (found == rings_.end()) return;
  auto& lines = found->second.lines;
  if (lines.size() <= m.number) lines.resize(m.number + 1);
  lines[m.number] = node_.checking->detector().host_site(text);
}

std::string HostAccesses::line(uint32_t process, uint32_t number) const {
  const auto known = lines_.find(process);
  if (known == lines_.end()) return {};
  const auto found = known->second.find(number);
  return found == known->second.end() ? std::string() : found->second;
}

race::Site HostAccesses::site_of(const Ring& ring, uint32_t line) const {
  return line < ring.lines.size() ? ring.lines[line] : 0;
}

uint32_t HostAccesses::begin(Ring& ring) {
  return node_.checking->begin_host(ring.process->number, ring.process->rank);
}

void HostAccesses::end(Ring& ring, uint32_t operation) { node_.checking->end_host(ring.process->number, operation); }

namespace {

// The info of the next record; 0: there is none.
uint64_t peek(const VerbsAccess& slot) {
  const uint64_t info = std::atomic_ref<const uint64_t>(slot.info).load(std::memory_order_acquire);
  return (info & VerbsAccess::kValid) != 0 ? info : 0;
}
bool is_contact(uint64_t info) {
  const AccessKind kind = VerbsAccess::kind_of(info);
  return info != 0 && (kind == AccessKind::talk || kind == AccessKind::hear);
}

}  // namespace

// What was told must be known before it is heard: contacts of all processes are taken in the order of real time, each
// behind the accesses before it.
void HostAccesses::take() {
  if (rings_.empty()) return;
  for (auto& [process, ring] : rings_) {
    if (ring.is_hidden) hear(ring);
  }
  for (uint32_t k = 0; k < kMostAtOnce; ++k) {
    Ring* first = nullptr;
    uint64_t when = 0;
    // Twice: what was told before the first one was seen is there by now.
    for (const bool again : {false, true}) {
      for (auto& [process, ring] : rings_) {
        take_accesses(ring);
        const VerbsAccess& slot = ring.slots[ring.next];
        if ((again && !first) || !is_contact(peek(slot))) continue;
        const uint64_t at = std::atomic_ref<const uint64_t>(slot.address).load(std::memory_order_relaxed);
        if (first && at >= when) continue;
        first = &ring;
        when = at;
      }
    }
    if (!first) break;
    const uint64_t info = pop(*first);
    if (VerbsAccess::kind_of(info) == AccessKind::hear) {
      hear(*first);
    } else {
      first->told = node_.checking->detector().host_clock(first->process->number);
    }
  }
  for (auto& [process, ring] : rings_) {
    if (ring.is_hidden) ring.told = node_.checking->detector().host_clock(process);
  }
}

uint64_t HostAccesses::pop(Ring& ring) {
  const uint64_t info = std::atomic_ref<uint64_t>(ring.slots[ring.next].info).exchange(0, std::memory_order_acq_rel);
  ring.next = (ring.next + 1) % ring.count;
  return info;
}

void HostAccesses::remove_process(uint32_t process) {
  if (rings_.erase(process) == 0 || !node_.checking) return;
  told_by_gone_ = node_.checking->join(told_by_gone_, node_.checking->detector().host_clock(process));
}

void HostAccesses::hear(const Ring& ring) {
  for (const auto& [process, other] : rings_) {
    if (&other != &ring) node_.checking->host_learns(ring.process->number, other.told);
  }
  node_.checking->host_learns(ring.process->number, told_by_gone_);
  node_.checking->host_hears_unobserved(ring.process->number);
}

// Up to the next contact.
void HostAccesses::take_accesses(Ring& ring) {
  uint32_t operation = 0;
  for (uint64_t k = 0; k < ring.count; ++k) {
    VerbsAccess& slot = ring.slots[ring.next];
    if (const uint64_t next = peek(slot); next == 0 || is_contact(next)) break;
    const uint64_t address = std::atomic_ref<uint64_t>(slot.address).load(std::memory_order_relaxed);
    const uint64_t info = pop(ring);
    if (operation == 0) operation = begin(ring);
    const race::Site site = site_of(ring, VerbsAccess::line_of(info));
    const bool stores = VerbsAccess::kind_of(info) == AccessKind::store;
    pieces_(ring.process->number, address, VerbsAccess::bytes_of(info), [&](const Bytes& at, uint64_t, uint64_t size) {
      if (!at.allocation) return;
      node_.checking->detector().host_access(operation, stores ? simt::AccessKind::store : simt::AccessKind::load, site,
                                             *at.allocation,
                                             static_cast<uint64_t>(at.host - at.allocation->bytes.get()), size);
    });
  }
  if (operation != 0) end(ring, operation);
}

void HostAccesses::look(const Process& process, const wire::VerbsLook& m) {
  using Kind = wire::VerbsLook::Kind;
  const auto found = rings_.find(process.number);
  if (!node_.checking || found == rings_.end()) return;
  Ring& ring = found->second;
  Checking& checking = *node_.checking;
  if (m.kind == Kind::fence) return checking.host_learns(process.number, std::exchange(ring.pending, nullptr));
  constexpr uint32_t kLargestWord = 8;
  if (m.bytes == 0 || m.bytes > kLargestWord) return;
  pieces_(process.number, m.address, m.bytes, [&](const Bytes& at, uint64_t, uint64_t size) {
    if (!at.allocation || size != m.bytes) return;
    const auto access = [&](simt::AccessKind kind, bool releases) {
      const uint32_t operation = begin(ring);
      checking.detector().host_word(operation, kind, site_of(ring, m.line), *at.allocation,
                                    static_cast<uint64_t>(at.host - at.allocation->bytes.get()), m.bytes, releases);
      end(ring, operation);
    };
    if (m.kind == Kind::store) return access(simt::AccessKind::store, m.releases != 0);
    const race::ClockRef released = checking.released_to_card(*at.allocation, at.host, size);
    access(m.kind == Kind::load ? simt::AccessKind::load : simt::AccessKind::atomic, false);
    if (m.acquires != 0) {
      checking.host_learns(process.number, released);
    } else {
      ring.pending = checking.join(ring.pending, released);
    }
    // An update releases what it has acquired as well.
    if (m.kind == Kind::update) access(simt::AccessKind::store, m.releases != 0);
  });
}

}  // namespace fb::machine
