#include "race/race_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace fb::race {

RaceFacts RaceReporter::facts_of(const AccessContext& access, const ShadowCell& earlier, uint32_t offset) {
  const Agents& agents = state_.agents;
  const ShadowCell& later = access.cell;
  const uint32_t earlier_lane = earlier.lane_at(offset), later_lane = later.lane_at(offset);
  RaceFacts f;
  f.earlier = earlier;
  f.later = later;
  f.earlier_op = &agents.operation_of(earlier.block);
  f.later_op = &agents.operation_of(later.block);
  const auto line_of = [&](const ShadowCell& cell, const OperationInfo& op) {
    std::string line = names_.line(cell.site);
    return line.empty() ? fmt::format("\"{}\"", op.name) : line;
  };
  f.earlier_at = line_of(earlier, *f.earlier_op);
  f.later_at = line_of(later, *f.later_op);
  f.morally_strong = order_.are_morally_strong(earlier, later);
  f.earlier_in_scope = agents.in_scope(earlier.reach(), earlier.block, later.block);
  f.threads_ordered = access.async && order_.orders_threads(access, earlier, earlier_lane, later_lane);
  const auto needed_between = [&](BlockId a, BlockId b) {
    if (same_block(a, b)) return Scope::cta;
    return agents.operation_of(a).device == agents.operation_of(b).device ? Scope::gpu : Scope::sys;
  };
  f.needed = needed_between(earlier.block, later.block);
  f.edge = state_.log.last_between(earlier, earlier_lane, later);
  if (!f.edge) {
    f.edge = state_.log.missed_on_the_way(earlier, later);
    f.on_the_way = f.edge != nullptr;
  }
  if (!f.edge) return f;
  // A flag on the way hands on to others what it was told: it needs the scope of the whole way.
  const Scope of_flag = needed_between(f.edge->write.block, f.edge->read.block);
  f.needed = f.on_the_way ? std::max(f.needed, of_flag) : of_flag;
  f.reader_in_write_scope = agents.in_scope(f.edge->write.reach(), f.edge->write.block, f.edge->read.block);
  const ClockRef released = f.edge->released ? state_.joiner.flatten(f.edge->release) : nullptr;
  f.released_to_reader =
      released && released->covers(agents.block(earlier.block).stream_epoch, earlier.block,
                                   static_cast<uint16_t>(earlier.warp + 1), Mask{1} << earlier_lane, earlier.epoch);
  return f;
}

FlagNames RaceReporter::names_of(const SyncEdge& edge) const {
  return {names_.agent(edge.write, edge.write_lane),
          names_.agent(edge.read, static_cast<uint32_t>(std::countr_zero(edge.read_lanes))),
          names_.line(edge.write.site), names_.line(edge.read.site), names_.line(edge.release_site)};
}

void RaceReporter::report(const AccessContext& access, const ShadowCell& earlier, const LineRef& at, uint32_t offset) {
  RaceFacts f = facts_of(access, earlier, offset);
  f.host_memory = at.allocation && at.allocation->device == mem::kHostMemory;
  const ReportRule& rule = first_rule(f);
  const RaceClass kind = class_of(rule, f);
  if (!reported_.emplace(f.earlier_at, f.later_at, kind).second) return;
  if (f.edge) f.flag = names_of(*f.edge);
  Report report;
  report.kind = kind;
  report.rule = rule.name;
  if (f.later_op->rank >= 0) report.rank = f.later_op->rank;
  report.text = fmt::format(
      "{}: two accesses to the same bytes, and nothing orders them\n"
      "  first:  {} {}: {}\n"
      "  then:   {} {}: {}\n"
      "  bytes:  {}\n"
      "  last synchronisation: {}{}\n"
      "  smallest change: {}{}",
      name_of(kind), names_.agent(earlier, earlier.lane_at(offset)), verb_of(earlier), names_.instruction(earlier),
      names_.agent(f.later, f.later.lane_at(offset)), verb_of(f.later), names_.instruction(f.later),
      names_.bytes(at, offset), f.on_the_way ? "between the two none; on the way between them, " : "",
      rule.last_sync(f), rule.change(f), names_.signatures(*f.earlier_op, *f.later_op, signed_));
  report_(std::move(report));
}

}  // namespace fb::race
