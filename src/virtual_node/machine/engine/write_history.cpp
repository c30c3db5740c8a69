#include "virtual_node/machine/engine/write_history.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {
namespace {

using simt::Access;
using simt::first_of;
using simt::Mask;
using simt::Warp;

uint64_t read_word(const mem::Allocation& allocation, uint64_t word) {
  uint64_t value = 0;
  const uint64_t at = word * WriteHistory::kWord;
  if (at < allocation.size)
    std::memcpy(&value, allocation.bytes.get() + at, std::min<uint64_t>(sizeof value, allocation.size - at));
  return value;
}

const mem::Window* window_of(Warp& w, mem::Address a) {
  if (w.window && w.window->contains(a, 1)) return w.window;
  return w.environment().global().find(a);
}

}  // namespace

uint64_t part_of(uint64_t word, uint32_t offset, uint32_t bytes) {
  word >>= offset * 8;
  return bytes >= 8 ? word : word & ((uint64_t{1} << bytes * 8) - 1);
}

uint64_t WriteHistory::reader_bits(const Warp& w) {
  const simt::Block& block = w.block();
  const uint64_t id = (block.index() << 16 | w.index()) * 0x9e3779b97f4a7c15 ^ block.device * 0xd6e8feb86659fd93;
  const uint64_t mixed = (id ^ id >> 31) * 0xbf58476d1ce4e5b9;
  return uint64_t{1} << (mixed >> 58) | uint64_t{1} << (mixed >> 52 & 63);
}

void WriteHistory::note(Warp& w, const Access& access) {
  if (access.lanes == 0 || access.proxy == simt::Proxy::async) return;
  const auto last = static_cast<uint32_t>(std::bit_width(access.lanes)) - 1;
  const bool one_address = access.addresses[first_of(access.lanes)] == access.addresses[last];
  const bool few =
      (one_address || static_cast<uint32_t>(std::popcount(access.lanes)) <= kFewLanes) && access.bytes <= 2 * kWord;
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const mem::Address a = access.addresses[first_of(rest)];
    const mem::Window* window = mem::is_global(a) ? window_of(w, a) : nullptr;
    const uint64_t offset = window ? a - window->begin + window->offset : 0;
    if (window && window->multicast) {
      for (const auto& member : window->multicast->members) {
        const auto* piece = member.piece_at(offset);
        if (!piece || !piece->allocation) continue;
        const auto base = static_cast<uint64_t>(piece->host - piece->allocation->bytes.get());
        const uint64_t within = base + offset - piece->offset;
        if (few) note_lane(w, access, piece->allocation, within);
        if (!few) note_wide(w, access, *piece->allocation, within);
      }
    } else if (window && few) {
      note_lane(w, access, window->allocation, offset);
    } else if (window) {
      note_wide(w, access, *window->allocation, offset);
    }
    if (one_address || !few) return;  // the first lane represents all
  }
}

void WriteHistory::note_lane(Warp& w, const Access& access, const std::shared_ptr<mem::Allocation>& allocation,
                             uint64_t offset) {
  const simt::Block& block = w.block();
  const simt::Origin origin = block.grid().program->origins[access.inst->origin];
  Write write;
  write.time = w.clock.now;
  write.grid = block.grid().id;
  write.block = static_cast<uint32_t>(block.index());
  write.warp = static_cast<uint16_t>(w.index());
  write.function = origin.function;
  write.index = origin.index;
  write.kind = access.kind == simt::AccessKind::atomic ? Kind::atomic : Kind::store;
  write.strong = is_strong(access.order);
  for (uint64_t at = offset; at < offset + access.bytes;) {
    const uint64_t word = at / kWord;
    write.offset = static_cast<uint8_t>(at % kWord);
    write.bytes = static_cast<uint8_t>(std::min<uint64_t>(kWord - write.offset, offset + access.bytes - at));
    write.before = read_word(*allocation, word);
    write.sequence = ++sequence_;
    Slot& slot = make(allocation, word);
    if (write.kind == Kind::atomic) slot.mark_seen(write.offset, write.bytes, reader_bits(w));
    push(slot, write);
    at += write.bytes;
  }
}

void WriteHistory::note_wide(Warp& w, const Access& access, const mem::Allocation& allocation, uint64_t offset) {
  if (wide_.empty()) wide_.resize(kWideSlots);
  const simt::Block& block = w.block();
  const simt::Origin origin = block.grid().program->origins[access.inst->origin];
  const uint64_t chunk = offset / kChunk;
  wide_[hash(key_of(allocation), chunk) % kWideSlots] = {
      ++sequence_,        w.clock.now,     chunk,
      key_of(allocation), block.grid().id, static_cast<uint32_t>(block.index()),
      w.index(),          origin.function, origin.index};
}

void WriteHistory::note_read(Warp& w, const Access& access) {
  if (sets_.empty() || static_cast<uint32_t>(std::popcount(access.lanes)) > kFewLanes) return;
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const mem::Address a = access.addresses[first_of(rest)];
    const mem::Window* window = mem::is_global(a) ? window_of(w, a) : nullptr;
    if (!window || window->multicast) continue;
    const uint64_t offset = a - window->begin + window->offset;
    if (Slot* slot = find(key_of(*window->allocation), offset / kWord))
      slot->mark_seen(static_cast<uint32_t>(offset % kWord), access.bytes, reader_bits(w));
  }
}

void WriteHistory::note_operation(const mem::Allocation& allocation, const std::byte* at, uint64_t bytes,
                                  const char* what, uint32_t process, uint64_t time) {
  if (bytes == 0) return;
  const auto begin = static_cast<uint64_t>(at - allocation.bytes.get());
  OperationWrite operation{++sequence_, time, key_of(allocation), begin, begin + bytes, process, what};
  if (operations_.size() == kMostOperations) operations_.pop_front();
  operations_.push_back(operation);
  if (sets_.empty()) return;
  const uint64_t first = begin / kWord, last = (begin + bytes - 1) / kWord;
  const auto push_to = [&](Slot& slot) {
    Write write;
    write.sequence = operation.sequence;
    write.time = time;
    write.before = read_word(allocation, slot.word);
    write.grid = operation.sequence;
    write.bytes = kWord;
    write.kind = Kind::operation;
    push(slot, write);
  };
  if (last - first < kSets) {
    for (uint64_t word = first; word <= last; ++word) {
      if (Slot* slot = find(operation.allocation, word)) push_to(*slot);
    }
    return;
  }
  for (auto& set : sets_) {
    for (Slot& slot : set) {
      if (slot.allocation == operation.allocation && slot.word >= first && slot.word <= last) push_to(slot);
    }
  }
}

KnownGrid& WriteHistory::note_grid(KnownGrid grid) {
  grid.launch = ++launches_[{{grid.process, grid.device}, grid.kernel}];
  if (grids_.size() < kMostGrids) return grids_.emplace_back(std::move(grid));
  KnownGrid& slot = grids_[next_grid_++ % kMostGrids];
  slot = std::move(grid);
  return slot;
}

void WriteHistory::note_grid_end(uint64_t id) {
  const auto found = std::ranges::find(grids_, id, &KnownGrid::id);
  if (found != grids_.end()) found->ended = true;
}

const KnownGrid* WriteHistory::find_grid(uint64_t id) const {
  const auto found = std::ranges::find(grids_, id, &KnownGrid::id);
  return found == grids_.end() ? nullptr : &*found;
}

uint64_t WriteHistory::launches(uint32_t process, const std::string& kernel) const {
  uint64_t all = 0;
  for (const auto& [key, count] : launches_) all += key.first.first == process && key.second == kernel ? count : 0;
  return all;
}

bool WriteHistory::has_launched(uint32_t process) const {
  return std::ranges::any_of(launches_, [&](const auto& l) { return l.first.first.first == process; });
}

WriteHistory::Slot* WriteHistory::find(uint64_t allocation, uint64_t word) {
  if (sets_.empty()) return nullptr;
  for (Slot& slot : sets_[hash(allocation, word) % kSets]) {
    if (slot.allocation == allocation && slot.word == word) return &slot;
  }
  return nullptr;
}

WriteHistory::Slot& WriteHistory::make(const std::shared_ptr<mem::Allocation>& allocation, uint64_t word) {
  if (sets_.empty()) sets_.resize(kSets);
  const uint64_t key = key_of(*allocation);
  auto& set = sets_[hash(key, word) % kSets];
  Slot* oldest = &set[0];
  for (Slot& slot : set) {
    if (slot.allocation == key && slot.word == word) return slot;
    const uint64_t age = slot.count == 0 ? 0 : slot.last().sequence;
    if (age < (oldest->count == 0 ? 0 : oldest->last().sequence)) oldest = &slot;
  }
  oldest->allocation = key;
  oldest->word = word;
  oldest->memory = allocation;
  oldest->count = 0;
  return *oldest;
}

void WriteHistory::push(Slot& slot, const Write& write) { slot.writes[slot.count++ % kWrites] = write; }

void WriteHistory::Slot::mark_seen(uint32_t offset, uint32_t bytes, uint64_t reader) {
  for (uint64_t k = count; k != count - std::min<uint64_t>(count, kWrites);) {
    Write& write = writes[--k % kWrites];
    if (!write.overlaps(offset, bytes)) continue;
    write.seen_by |= reader;
    return;
  }
}

std::vector<WriteHistory::Write> WriteHistory::Slot::in_order() const {
  std::vector<Write> all;
  for (uint64_t k = count - std::min<uint64_t>(count, kWrites); k < count; ++k) all.push_back(writes[k % kWrites]);
  return all;
}

std::vector<WriteHistory::Write> WriteHistory::writes(const mem::Allocation& allocation, uint64_t offset) const {
  if (sets_.empty()) return {};
  const uint64_t key = key_of(allocation), word = offset / kWord;
  for (const Slot& slot : sets_[hash(key, word) % kSets]) {
    if (slot.allocation == key && slot.word == word) return slot.in_order();
  }
  return {};
}

std::optional<WriteHistory::WideWrite> WriteHistory::wide_write(const mem::Allocation& allocation,
                                                                uint64_t offset) const {
  if (wide_.empty()) return std::nullopt;
  const uint64_t chunk = offset / kChunk;
  const WideWrite& found = wide_[hash(key_of(allocation), chunk) % kWideSlots];
  if (found.allocation != key_of(allocation) || found.chunk != chunk) return std::nullopt;
  return found;
}

std::optional<WriteHistory::OperationWrite> WriteHistory::operation_write(const mem::Allocation& allocation,
                                                                          uint64_t offset) const {
  for (auto o = operations_.rbegin(); o != operations_.rend(); ++o) {
    if (o->allocation == key_of(allocation) && o->begin <= offset && offset < o->end) return *o;
  }
  return std::nullopt;
}

const WriteHistory::OperationWrite* WriteHistory::find_operation(uint64_t sequence) const {
  const auto found = std::ranges::find(operations_, sequence, &OperationWrite::sequence);
  return found == operations_.end() ? nullptr : &*found;
}

std::vector<WriteHistory::Word> WriteHistory::words() const {
  std::vector<Word> all;
  for (const auto& set : sets_) {
    for (const Slot& slot : set) {
      if (slot.count != 0) all.push_back({slot.memory, slot.word, slot.in_order()});
    }
  }
  std::ranges::sort(all, std::ranges::greater(), [](const Word& w) { return w.writes.back().sequence; });
  return all;
}

}  // namespace fb::machine
