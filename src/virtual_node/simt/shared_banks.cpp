#include "virtual_node/simt/shared_banks.h"

#include <algorithm>
#include <bit>

#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

constexpr uint32_t kBanks = 32, kWord = 4;
constexpr uint16_t kLookedAt = 4;   // executions in the beginning
constexpr uint16_t kInterval = 16;  // then one of these

// A part of the warp, served together: how many words the busiest bank has.
uint32_t busiest_bank(const mem::Address* addresses, Mask lanes, uint32_t words) {
  uint64_t seen[kLanes * kWord];
  uint32_t count = 0, most = 1;
  uint8_t in_bank[kBanks] = {};
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint64_t first = addresses[std::countr_zero(lanes)] / kWord;
    for (uint32_t n = 0; n < words; ++n) {
      const uint64_t word = first + n;
      if (std::find(seen, seen + count, word) != seen + count) continue;
      seen[count++] = word;
      most = std::max<uint32_t>(most, ++in_bank[word % kBanks]);
    }
  }
  return most;
}

}  // namespace

uint32_t shared_cycles(const mem::Address* addresses, Mask lanes, uint32_t bytes) {
  const uint32_t words = std::max(bytes / kWord, 1u);
  const uint32_t parts = std::min(words, kLanes);
  const uint32_t each = kLanes / parts;
  uint32_t cycles = 0;
  for (uint32_t p = 0; p < parts; ++p) {
    const Mask part = lanes & (each == kLanes ? kAllLanes : ((Mask{1} << each) - 1) << p * each);
    if (part != 0) cycles += busiest_bank(addresses, part, words);
  }
  return cycles;
}

bool is_due(BankSample& s) {
  if (s.until_next != 0) {
    --s.until_next;
    return false;
  }
  s.until_next = s.looked_at < kLookedAt ? 0 : kInterval - 1;
  ++s.looked_at;
  return true;
}

void note_shared_access(Warp& w, const Inst& i, const mem::Address* addresses, uint32_t bytes) {
  const Program& program = w.program();
  BankSample& s = (*program.bank_samples)[static_cast<size_t>(&i - program.code.data())];
  if (is_due(s)) {
    const uint32_t least = std::max(bytes * kLanes / (kBanks * kWord), 1u);
    const uint32_t cycles = shared_cycles(addresses, w.exec, bytes);
    s.extra = static_cast<uint16_t>(cycles - std::min(cycles, least));
  }
  if (s.extra == 0) return;
  const uint32_t extra = s.extra * program.cycle;
  w.clock.occupied[static_cast<size_t>(Part::load_store)] += extra;
  if (w.clock.profiled) w.listener()->on_bank_conflict(w, i, extra);
  w.clock.now += extra;
}

}  // namespace fb::simt
