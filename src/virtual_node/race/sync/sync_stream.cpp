#include "virtual_node/race/sync/sync_stream.h"

#include <memory>
#include <utility>

#include "virtual_node/race/agents/card_release.h"

namespace fb::race {

ClockRef StreamSync::end_operation(uint32_t operation) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return nullptr;
  publish(op->observed);
  const StreamEpoch of = state_.agents.operation(operation).stream_epoch;
  auto outgoing = op->outgoing ? std::make_shared<Clock>(*op->outgoing) : std::make_shared<Clock>();
  outgoing->add(of);  // covers its blocks from now on, and those of earlier operations of the stream
  state_.live.end_operation(operation);
  fences_.forget(of);
  return outgoing;
}

ClockRef StreamSync::so_far(uint32_t operation) {
  const OperationState* op = state_.live.operation(operation);
  return op ? op->outgoing : nullptr;
}

void StreamSync::inherit(uint32_t operation, const ClockRef& clock) {
  if (OperationState* op = state_.live.operation(operation)) op->outgoing = state_.joiner.join(op->outgoing, clock);
}

ClockRef StreamSync::launch_clock(simt::Warp& w, uint32_t lane) {
  WarpState& s = state_.live.warp(w);
  ClockRef clock = state_.joiner.flatten(s.make_release(Mask{1} << lane, state_.joiner));
  publish(s.observed);
  ++s.block->epoch;
  return clock;
}

AccessContext StreamSync::context_of(OperationState& op, AccessKind kind) {
  AccessContext context;
  context.operation = &op;
  context.cell.block = state_.live.block_of(op);
  context.cell.epoch = 1;
  context.cell.spread = kOneLane;
  context.cell.kind = static_cast<uint32_t>(kind) & 3;
  context.cell.element = context.cell.whole = 7;
  return context;
}

void StreamSync::access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset,
                        uint64_t bytes) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return;
  AccessContext context = context_of(*op, kind);
  Shadow& shadow = memory_.of(allocation);
  looked_at_.each_part(offset, bytes, [&](uint64_t at, uint64_t part) {
    check_.apply(context, {&shadow, &allocation, allocation.bytes.get() + at, at}, part);
  });
}

// A strong access of system scope, to a word of 4 or 8 bytes; returns the line of the word.
Line& StreamSync::access_word(AccessContext& context, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
  context.cell.strong = 1;
  context.cell.scope = static_cast<uint32_t>(Scope::sys) & 7;
  context.cell.element = context.cell.whole = bytes == 8 ? 3 : 2;
  Shadow& shadow = memory_.of(allocation);
  check_.apply(context, {&shadow, &allocation, allocation.bytes.get() + offset, offset}, bytes);
  return shadow.line(offset / kLineBytes);
}

void StreamSync::write_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return;
  AccessContext context = context_of(*op, AccessKind::store);
  Line& line = access_word(context, allocation, offset, bytes);
  Release release;
  release.write = context.cell;
  release.has_release = true;
  release.release_scope = Scope::sys;
  release.clock = {{op->incoming, op->incoming},
                   state_.agents.block(op->block).stream_epoch,
                   op->block,
                   1,
                   1,
                   0,
                   0,
                   context.cell.epoch};
  Flag& flag = line.extra().flags.make(static_cast<uint32_t>(offset % kLineBytes), bytes);
  flag.previous = std::make_shared<const Releases>();
  flag.releases = std::make_shared<const Releases>(1, release);
}

void StreamSync::wait_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return;
  const Agents& agents = state_.agents;
  ClockJoiner& joiner = state_.joiner;
  AccessContext context = context_of(*op, AccessKind::load);
  Line& line = access_word(context, allocation, offset, bytes);
  if (allocation.shared) op->outgoing = joiner.join(op->outgoing, state_.hosts.of(agents.operation(op->number).host));
  const auto in_line = static_cast<uint32_t>(offset % kLineBytes);
  if (Release release; release_of_card(agents, line.at(in_line).write, release))
    op->outgoing = joiner.join(op->outgoing, joiner.flatten(release.clock));
  if (!line.extras) return;
  for (const Flag& flag : line.extras->flags.at(in_line, in_line + bytes)) {
    if (flag.offset != in_line || flag.bytes != bytes) continue;
    for (const Release& release : *flag.releases) {
      if (release.has_release && agents.in_scope(release.release_scope, release.write.block, op->block) &&
          agents.in_scope(release.write.reach(), release.write.block, op->block))
        op->outgoing = joiner.join(op->outgoing, joiner.flatten(release.clock));
    }
  }
}

}  // namespace fb::race
