#include "virtual_node/race/sync/sync_hosts.h"

#include <bit>
#include <memory>

#include "virtual_node/race/agents/card_release.h"

namespace fb::race {

AccessContext HostSync::context_of(OperationState& op, AccessKind kind, Site site) {
  AccessContext context;
  context.operation = &op;
  context.cell.block = state_.live.block_of(op);
  context.cell.epoch = 1;
  context.cell.site = site;
  context.cell.spread = kOneLane;
  context.cell.kind = static_cast<uint32_t>(kind) & 3;
  context.cell.element = context.cell.whole = 7;
  return context;
}

void HostSync::access(uint32_t operation, AccessKind kind, Site site, mem::Allocation& allocation, uint64_t offset,
                      uint64_t bytes) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return;
  AccessContext context = context_of(*op, kind, site);
  Shadow& shadow = memory_.of(allocation);
  looked_at_.each_part(offset, bytes, [&](uint64_t at, uint64_t part) {
    check_.apply(context, {&shadow, &allocation, allocation.bytes.get() + at, at}, part);
  });
}

void HostSync::word(uint32_t operation, AccessKind kind, Site site, mem::Allocation& allocation, uint64_t offset,
                    uint32_t bytes, bool releases) {
  OperationState* op = state_.live.operation(operation);
  if (!op) return;
  AccessContext context = context_of(*op, kind, site);
  context.cell.strong = 1;
  context.cell.scope = static_cast<uint32_t>(Scope::sys) & 7;
  context.cell.element = context.cell.whole = static_cast<uint32_t>(std::bit_width(bytes) - 1) & 7;
  Shadow& shadow = memory_.of(allocation);
  const auto begin = static_cast<uint32_t>(offset % kLineBytes);
  const ReleasesRef replaced = releases_in(state_.agents, shadow.line(offset / kLineBytes), begin, begin + bytes);
  check_.apply(context, {&shadow, &allocation, allocation.bytes.get() + offset, offset}, bytes);
  if (!context.cell.writes() || bytes < 4 || begin + bytes > kLineBytes) return;
  Release release;
  release.write = context.cell;
  release.has_release = releases;
  release.release_scope = Scope::sys;
  release.release_site = site;
  release.writer_clock = op->incoming;
  release.clock = {{op->incoming, op->incoming},
                   state_.agents.block(op->block).stream_epoch,
                   op->block,
                   1,
                   1,
                   0,
                   0,
                   context.cell.epoch};
  Flag& flag = shadow.line(offset / kLineBytes).extra().flags.make(begin, bytes);
  flag.previous = replaced ? replaced : std::make_shared<const Releases>();
  flag.releases = std::make_shared<const Releases>(1, release);
}

}  // namespace fb::race
