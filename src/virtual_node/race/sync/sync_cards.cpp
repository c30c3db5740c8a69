#include "virtual_node/race/sync/sync_cards.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "virtual_node/race/agents/card_release.h"

namespace fb::race {

void CardSync::access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset,
                      uint64_t bytes) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return;
  AccessContext context;
  context.operation = op;
  context.cell.block = state_.live.block_of(*op);
  context.cell.epoch = 1;
  context.cell.spread = kOneLane;
  context.cell.kind = static_cast<uint32_t>(kind) & 3;
  context.cell.strong = 1;
  context.cell.scope = static_cast<uint32_t>(Scope::sys) & 7;
  const bool is_word = bytes <= 8 && std::has_single_bit(bytes) && offset % bytes == 0;
  context.cell.element = kAnyWord;
  context.cell.whole = (is_word ? static_cast<uint32_t>(std::countr_zero(bytes)) : kAnyWord) & 7;
  Shadow& shadow = memory_.of(allocation);
  const auto apply = [&](uint64_t at, uint64_t part) {
    check_.apply(context, {&shadow, &allocation, allocation.bytes.get() + at, at}, part);
  };
  // Small messages may be flags, and those are followed everywhere.
  if (bytes > kLineBytes) return looked_at_.each_part(offset, bytes, apply);
  apply(offset, bytes);
  // For atomic operations of threads, which take the place of the write. Loads find it by itself.
  if (Release release; is_word && bytes >= 4 && release_of_card(state_.agents, context.cell, release)) {
    Flags& flags = shadow.line(offset / kLineBytes).extra().flags;
    Flag& flag = flags.make(static_cast<uint32_t>(offset % kLineBytes), static_cast<uint32_t>(bytes));
    flag.previous = std::make_shared<const Releases>();
    flag.releases = std::make_shared<const Releases>(1, release);
  }
}

ClockRef CardSync::released(mem::Allocation& allocation, uint64_t offset, uint64_t bytes) {
  ClockRef all;
  Shadow& shadow = memory_.of(allocation);
  for (uint64_t at = offset; at < offset + bytes;) {
    Line& line = shadow.line(at / kLineBytes);
    const auto begin = static_cast<uint32_t>(at % kLineBytes);
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(kLineBytes, begin + (offset + bytes - at)));
    for (uint32_t k = begin; k < end; k += 4) {
      if (Release release; release_of_card(state_.agents, line.at(k).write, release))
        all = state_.joiner.join(all, state_.joiner.flatten(release.clock));
    }
    if (line.extras) {
      for (const Flag& flag : line.extras->flags.at(begin, end)) {
        for (const Release& release : *flag.releases) {
          if (release.has_release && release.release_scope == Scope::sys && release.write.reach() == Scope::sys)
            all = state_.joiner.join(all, state_.joiner.flatten(release.clock));
        }
      }
    }
    at += end - begin;
  }
  return all;
}

}  // namespace fb::race
