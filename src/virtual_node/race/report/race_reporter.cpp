#include "virtual_node/race/report/race_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "common/base/hash.h"

namespace fb::race {

std::string RaceReporter::line_of(const ShadowCell& cell) const {
  const OperationInfo& op = state_.agents.operation_of(cell.block);
  std::string line = names_.line(cell.site);
  if (line.empty() && op.line != 0) line = fmt::format("{}:{}", op.file, op.line);
  return line.empty() ? fmt::format("\"{}\"", op.name) : line;
}

RaceFacts RaceReporter::facts_of(const AccessContext& access, const ShadowCell& earlier, uint32_t offset) {
  const Agents& agents = state_.agents;
  const ShadowCell& later = access.cell;
  RaceFacts f;
  const uint32_t earlier_lane = f.earlier_lane = earlier.lane_at(offset);
  const uint32_t later_lane = f.later_lane = later.lane_at(offset);
  f.earlier = earlier;
  f.later = later;
  f.earlier_op = &agents.operation_of(earlier.block);
  f.later_op = &agents.operation_of(later.block);
  f.earlier_at = line_of(earlier);
  f.later_at = line_of(later);
  f.morally_strong = order_.are_morally_strong(earlier, later);
  f.earlier_in_scope = agents.in_scope(earlier.reach(), earlier.block, later.block);
  f.later_in_scope = agents.in_scope(later.reach(), later.block, earlier.block);
  f.threads_ordered = access.async && order_.orders_threads(access, earlier, earlier_lane, later_lane);
  const auto needed_between = [&](BlockId a, BlockId b) {
    if (same_block(a, b)) return Scope::cta;
    return agents.operation_of(a).device == agents.operation_of(b).device ? Scope::gpu : Scope::sys;
  };
  f.needed = needed_between(earlier.block, later.block);
  if (earlier.block == later.block && earlier.warp == later.warp && earlier_lane == later_lane) {
    // Program order is no race: another lane of those that accessed the byte together.
    const Mask others = later.spread == kEveryLane ? access.lanes & ~(Mask{1} << later_lane) : 0;
    if (others != 0) {
      f.later_lane = static_cast<uint32_t>(std::countr_zero(others));
    } else if (earlier.spread == kEveryLane) {
      f.earlier_lane = simt::kLanes;
    }
  }
  f.edge = state_.log.last_between(earlier, earlier_lane, later);
  if (!f.edge && f.earlier_op->of_card()) f.edge = state_.log.last_of_card(f.earlier_op->card.pair, later);
  // Threads of one block have their own barrier: a flag of others would be a guess.
  if (!f.edge && !same_block(earlier.block, later.block)) {
    f.edge = state_.log.missed_on_the_way(earlier, later);
    f.on_the_way = f.edge != nullptr;
  }
  const auto covers_earlier = [&](const SyncEdge& edge) {
    const ClockRef released = edge.released ? state_.joiner.flatten(edge.release) : nullptr;
    return released &&
           released->covers(agents.block(earlier.block).stream_epoch, earlier.block,
                            static_cast<uint16_t>(earlier.warp + 1), Mask{1} << earlier_lane, earlier.epoch);
  };
  if (!f.edge) {
    const SyncEdge* unread = earlier.writes() && !later.writes() ? state_.log.read_by_others(earlier, later) : nullptr;
    if (unread && covers_earlier(*unread)) f.unread = unread;
    return f;
  }
  f.flag_op = &agents.operation_of(f.edge->write.block);
  // A flag on the way hands on to others what it was told: it needs the scope of the whole way.
  const Scope of_flag = needed_between(f.edge->write.block, f.edge->read.block);
  f.needed = f.on_the_way ? std::max(f.needed, of_flag) : of_flag;
  // The access happens before the write of the flag, so only the release between them is missing.
  const SyncEdge& edge = *f.edge;
  const bool same_thread =
      edge.write.block == earlier.block && edge.write.warp == earlier.warp && edge.write_lane == earlier_lane;
  const bool before_flag = same_thread || (edge.write.block == earlier.block && earlier.epoch <= edge.writer_base);
  f.released_before =
      edge.released && before_flag && edge.release.block == edge.write.block && edge.release.lane_epoch < earlier.epoch;
  f.reader_in_write_scope = agents.in_scope(f.edge->write.reach(), f.edge->write.block, f.edge->read.block);
  f.writer_in_read_scope = agents.in_scope(f.edge->read.reach(), f.edge->read.block, f.edge->write.block);
  f.released_to_reader = covers_earlier(*f.edge);
  // Fences are known of blocks that run: of others nothing is claimed.
  if (edge.relaxed_read && access.block && same_block(access.block->id, edge.read.block)) {
    const auto& warps = access.block->warps;
    const auto reader = std::ranges::find_if(warps, [&](const auto& w) { return w && w->index == edge.read.warp; });
    const auto comes_behind = [&](const FenceRecord& fence) {
      return (fence.lanes & edge.read_lanes) != 0 && fence.clock.lane_epoch >= edge.read.epoch;
    };
    f.read_is_relaxed = reader != warps.end() && std::ranges::none_of((*reader)->fences, comes_behind);
  }
  return f;
}

FlagNames RaceReporter::names_of(const SyncEdge& edge) const {
  return {names_.agent(edge.write, edge.write_lane),
          names_.agent(edge.read, static_cast<uint32_t>(std::countr_zero(edge.read_lanes))), line_of(edge.write),
          line_of(edge.read), names_.line(edge.release_site)};
}

// Operations that are not kernels have no instructions: each is its own.
uint64_t RaceReporter::pair_of(const ShadowCell& earlier, const ShadowCell& later, bool same_value) const {
  const auto name = [&](const ShadowCell& cell) {
    return cell.site != 0 ? uint64_t{cell.site} << 1 : uint64_t{state_.agents.block(cell.block).operation} << 1 | 1;
  };
  return mix(name(earlier), {name(later), uint64_t{same_value}});
}

void RaceReporter::report(const AccessContext& access, const ShadowCell& earlier, const LineRef& at, uint32_t offset) {
  // Of two stores the later one finds the bytes of the earlier one; a store next to a read changes nothing for it.
  const ShadowCell& store = access.cell.writes() ? access.cell : earlier;
  const bool of_one_store = access.same_as_lane && earlier.block == access.cell.block &&
                            earlier.warp == access.cell.warp && earlier.site == access.cell.site;
  const bool same_value = options_.sanitizer && (store.same || of_one_store);
  if (same_value && options_.allow_same_value) return;
  Known& known = known_[pair_of(earlier, access.cell, same_value)];
  if (known.analyses == kMostAnalyses) {
    ++further_[known.last];
    return;
  }
  ++known.analyses;
  RaceFacts f = facts_of(access, earlier, offset);
  f.host_memory = at.allocation && at.allocation->device == mem::kHostMemory;
  f.shared_memory = !at.allocation;
  const ReportRule& rule = first_rule(f);
  const RaceClass kind = class_of(rule, f);
  const std::string_view id = same_value ? kSameValueId : id_of(kind);
  const std::string &low = std::min(f.earlier_at, f.later_at), &high = std::max(f.earlier_at, f.later_at);
  // That the values are the same this time is nothing new about a race that was reported.
  auto entry = same_value ? reported_.lower_bound({low, high, ""}) : reported_.find({low, high, id});
  const bool is_new = entry == reported_.end() || std::get<0>(entry->first) != low || std::get<1>(entry->first) != high;
  if (is_new) entry = reported_.emplace(std::tuple(low, high, id), static_cast<uint32_t>(further_.size())).first;
  known.last = entry->second;
  if (!is_new) {
    ++further_[known.last];
    return;
  }
  further_.push_back(0);
  if (const SyncEdge* flag = f.edge ? f.edge : f.unread) f.flag = names_of(*flag);
  Report report;
  report.kind = kind;
  report.id = id;
  report.rule = rule.name;
  report.number = known.last;
  if (f.later_op->rank >= 0) report.rank = f.later_op->rank;
  report.sites.push_back(names_.site("first", earlier, f.earlier_lane));
  report.sites.push_back(names_.site("then", f.later, f.later_lane));
  if (f.edge && is_of_flag(rule)) {
    const SyncEdge& edge = *f.edge;
    report.sites.push_back(names_.site("flag set", edge.write, edge.write_lane));
    report.sites.push_back(
        names_.site("flag read", edge.read, static_cast<uint32_t>(std::countr_zero(edge.read_lanes))));
    report.cause = fmt::format("{}|{}|{}", id, f.flag.write_at, f.flag.read_at);
  }
  report.text = text_of(f, rule, kind, same_value, at, offset);
  report_(std::move(report));
}

std::string RaceReporter::text_of(const RaceFacts& f, const ReportRule& rule, RaceClass kind, bool same_value,
                                  const LineRef& at, uint32_t offset) {
  std::string text = fmt::format(
      "{}: two accesses to the same bytes, and nothing orders them\n"
      "  first:  {} {}: {}\n"
      "  then:   {} {}: {}\n"
      "  bytes:  {}\n",
      name_of(kind), names_.agent(f.earlier, f.earlier_lane), verb_of(f.earlier), names_.instruction(f.earlier),
      names_.agent(f.later, f.later_lane), verb_of(f.later), names_.instruction(f.later), names_.bytes(at, offset));
  if (same_value)
    text += "  value:  the store writes what is there already; --allow same-value leaves such races out\n";
  return text + fmt::format("  last synchronisation: {}{}\n  smallest change: {}{}",
                            f.on_the_way && is_of_flag(rule) ? "between the two none; on the way between them, " : "",
                            rule.last_sync(f), rule.change(f), names_.signatures(*f.earlier_op, *f.later_op, signed_));
}

}  // namespace fb::race
