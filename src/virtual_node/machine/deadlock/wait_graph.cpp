#include "virtual_node/machine/deadlock/wait_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "common/base/demangle.h"
#include "common/ptx/traits.h"
#include "virtual_node/machine/engine/instruction_location.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/mask.h"

namespace fb::machine {
namespace {

using simt::first_of;
using simt::SplitState;

constexpr size_t kMostWarps = 1024;  // of a grid
constexpr size_t kMostReads = 8;     // of a split
constexpr size_t kMostGroups = 256;  // of all grids together, but some of each
constexpr size_t kMostFewGroups = 4;

const ptx::Instruction& source_of(const simt::Grid& grid, const simt::Inst& inst) {
  const simt::Origin origin = grid.program->origins[inst.origin];
  return grid.program->module->functions[origin.function].body[origin.index];
}

// The load itself is often in a header such as <cuda/atomic>: then the line that compares its result is the useful one.
simt::SourceLocation location_of_wait(const simt::Grid& grid, const simt::Split& split, const simt::Inst& load) {
  const auto is_header = [](const simt::SourceLocation& at) { return at.file.contains("/include/"); };
  simt::SourceLocation location = location_of(grid, load);
  if (!is_header(location)) return location;
  const simt::Inst* end = grid.program->code.data() + grid.program->code.size();
  constexpr size_t kMostLooked = 64;
  for (const simt::Inst* at = &load; at != end && at < &load + kMostLooked; ++at) {
    simt::SourceLocation other = location_of(grid, *at);
    if (other.function != location.function) break;
    if (other.line != 0 && !is_header(other)) {
      other.ptx_line = location.ptx_line;
      other.text = location.text;
      return other;
    }
    if (source_of(grid, *at).form == ptx::Form::bra && at->target == split.ip) break;
  }
  return location;
}

// Lanes read in order; consecutive lanes that read the same bytes are one read.
std::optional<Need> need_of(const simt::Warp& warp, const simt::Split& split, const simt::WatchedRead& read,
                            size_t number, size_t count) {
  const uint32_t first = first_of(split.mask), last = 31 - static_cast<uint32_t>(std::countl_zero(split.mask));
  auto need = find_need(warp, split, read, first);
  if (!need || first == last) return need;
  const auto of_last = find_need(warp, split, read, last);
  if (of_last && of_last->value == need->value && of_last->add == need->add && of_last->flip == need->flip) return need;
  if (count != static_cast<size_t>(std::popcount(split.mask))) return std::nullopt;
  simt::Mask rest = split.mask;
  for (size_t k = 0; k < number; ++k) rest &= rest - 1;
  return find_need(warp, split, read, first_of(rest));
}

class Builder {
 public:
  explicit Builder(DeadlockSnapshot facts) { graph_.facts = std::move(facts); }

  WaitGraph build() {
    const DeadlockSnapshot& facts = graph_.facts;
    for (size_t r = 0; r < facts.runs.size(); ++r) add_run(r);
    for (size_t w = 0; w < facts.ops.size(); ++w) add_stream(w);
    for (Wait& wait : graph_.waits) {
      if (!wait.allocation) continue;
      add_history(wait);
      add_known_stores(wait);
    }
    for (size_t k = 0; k < graph_.waits.size(); ++k) add_edges(k);
    return std::move(graph_);
  }

 private:
  // Nodes
  void add_run(size_t r) {
    const GridRun& run = *graph_.facts.runs[r].run;
    std::vector<const simt::Block*> blocks;
    for (const auto& block : run.blocks) blocks.push_back(block.get());
    std::ranges::sort(blocks, {}, &simt::Block::index);
    size_t warps = 0;
    most_waits_ = graph_.waits.size() + std::max(kMostFewGroups, kMostGroups / graph_.facts.runs.size());
    for (const simt::Block* block : blocks) {
      for (const auto& warp : block->warps()) {
        for (const simt::Split& s : warp->splits())
          graph_.waiting_threads += static_cast<uint64_t>(std::popcount(s.mask));
        if (warp->splits().empty()) continue;
        if (++warps > kMostWarps) {
          ++graph_.not_examined;
          continue;
        }
        for (const simt::Split& s : warp->splits()) add_split(r, *warp, s);
      }
    }
  }

  void add_split(size_t r, const simt::Warp& warp, const simt::Split& s) {
    const simt::Grid& grid = warp.block().grid();
    Wait wait;
    wait.run = r;
    wait.since = warp.clock.now;
    if (!s.asleep_on.empty()) return add_reads(wait, warp, s);
    const simt::Inst* at = s.behind ? s.ip - 1 : s.ip;
    wait.location = location_of(grid, *at);
    switch (s.state) {
      case SplitState::barrier:
        wait.kind = s.barrier >= simt::kOwnWarpOnly ? WaitKind::lanes : WaitKind::block_barrier;
        describe_barrier(wait, warp, s.barrier % simt::kOwnWarpOnly);
        if (wait.kind == WaitKind::lanes) wait.missing_lanes = warp.present() & ~warp.exited() & ~s.mask;
        break;
      case SplitState::cluster_barrier:
        wait.kind = WaitKind::cluster_barrier;
        break;
      case SplitState::lanes:
      case SplitState::warp_barrier:
        wait.kind = WaitKind::lanes;
        wait.missing_lanes = s.wanted & ~s.mask;
        break;
      case SplitState::async:
        wait.kind = WaitKind::copies;
        break;
      case SplitState::asleep:
      case SplitState::ready:
        wait.kind = WaitKind::nothing;
        break;
    }
    add(std::move(wait), at, warp, s);
  }

  static void describe_barrier(Wait& wait, const simt::Warp& warp, uint32_t id) {
    const simt::Block& block = warp.block();
    const simt::BlockBarrier& b = block.barrier(id);
    wait.barrier = id;
    for (const simt::BarrierWarp& w : b.warps) wait.arrived += static_cast<uint32_t>(std::popcount(w.arrived));
    for (const auto& w : block.warps()) wait.exited += static_cast<uint32_t>(std::popcount(w->exited()));
    wait.counted = b.expected_threads != 0;
    wait.expected = b.expected_threads != 0 ? b.expected_threads : block.threads() - wait.exited;
  }

  void add_reads(const Wait& wait, const simt::Warp& warp, const simt::Split& s) {
    const simt::Grid& grid = warp.block().grid();
    size_t added = 0;
    std::map<const simt::Inst*, size_t> count, number;
    for (const simt::WatchedRead& r : s.asleep_on) ++count[r.inst];
    std::optional<Wait> satisfied;  // fallback where every read holds the value it needs
    for (const simt::WatchedRead& r : s.asleep_on) {
      Wait one = wait;
      one.location = location_of_wait(grid, s, *r.inst);
      one.address = r.guest;
      one.bytes = r.bytes;
      std::memcpy(&one.seen, r.seen, std::min<size_t>(r.bytes, sizeof one.seen));
      if (ptx::traits(source_of(grid, *r.inst)).waits_for_mbarrier) {
        uint64_t word = 0;
        std::memcpy(&word, r.host - 7, sizeof word);
        one.kind = WaitKind::mbarrier;
        one.mbarrier = simt::decode_mbarrier(word);
        one.address = r.guest / sizeof word * sizeof word;
      } else if (!mem::is_memory(r.guest)) {
        one.kind = WaitKind::shared_memory;
      }
      one.need = one.kind == WaitKind::mbarrier ? std::nullopt : need_of(warp, s, r, number[r.inst]++, count[r.inst]);
      if (one.need) one.need_text = one.need->text();
      const mem::Window* window = one.kind == WaitKind::memory ? warp_space(one).find(r.guest) : nullptr;
      if (window && window->allocation) {
        one.allocation = window->allocation.get();
        one.offset = r.guest - window->begin + window->offset;
      }
      one.reader_bits = WriteHistory::reader_bits(warp);
      if (one.need && one.need->holds(one.seen)) {
        if (!satisfied) satisfied = std::move(one);
        continue;
      }
      if (++added > kMostReads) break;
      add(std::move(one), r.inst, warp, s);
    }
    if (added == 0 && satisfied) {
      satisfied->need.reset();
      satisfied->need_text.clear();
      add(std::move(*satisfied), s.asleep_on.front().inst, warp, s);
    }
  }

  const mem::AddressSpace& warp_space(const Wait& wait) const { return *graph_.facts.runs[wait.run].space; }

  void add(Wait wait, const simt::Inst* at, const simt::Warp& warp, const simt::Split& s) {
    WaitingThreads threads{&warp, &s, warp.block().index(), warp.index(), s.mask};
    const auto key = std::make_tuple(wait.run, at, s.ip, static_cast<uint32_t>(wait.kind), wait.allocation, wait.seen,
                                     wait.need_text, wait.barrier, wait.missing_lanes,
                                     std::pair(wait.arrived, simt::encode(wait.mbarrier)));
    if (graph_.waits.size() == most_waits_ && !groups_.contains(key)) {
      ++graph_.not_examined;
      return;
    }
    const auto [found, is_new] = groups_.try_emplace(key, graph_.waits.size());
    if (is_new) {
      wait.threads.push_back(threads);
      graph_.waits.push_back(std::move(wait));
    } else {
      Wait& group = graph_.waits[found->second];
      group.reader_bits |= wait.reader_bits;
      if (wait.address != group.address) ++group.words;
      if (group.threads.back().split != &s) group.threads.push_back(threads);
    }
  }

  void add_stream(size_t w) {
    const BlockedOp& op = graph_.facts.ops[w];
    if (!op.waits_on || !op.begun) return;
    Wait wait;
    wait.kind = WaitKind::memory;
    wait.op = w;
    wait.allocation = op.waits_on;
    wait.offset = op.offset;
    wait.bytes = op.bytes;
    wait.need_text = op.need_text;
    wait.need = op.need;
    std::memcpy(&wait.seen, op.waits_on->bytes.get() + op.offset, op.bytes);
    graph_.waits.push_back(std::move(wait));
  }

  // Past writes
  void add_history(Wait& wait) const {
    const WriteHistory* history = graph_.facts.history;
    if (!history) return;
    const mem::Allocation& a = *wait.allocation;
    const auto writes = history->writes(a, wait.offset);
    const uint64_t word = wait.offset / WriteHistory::kWord;
    const auto within = static_cast<uint32_t>(wait.offset % WriteHistory::kWord);
    uint64_t now = 0;
    const uint64_t at = word * WriteHistory::kWord;
    std::memcpy(&now, a.bytes.get() + at, std::min<uint64_t>(sizeof now, a.size - at));
    for (size_t k = 0; k < writes.size(); ++k) {
      const auto& w = writes[k];
      if (!w.overlaps(within, wait.bytes)) continue;
      const uint64_t after = k + 1 < writes.size() ? writes[k + 1].before : now;
      PastWrite past = past_write(w);
      if (wait.bytes <= WriteHistory::kWord) past.value = part_of(after, within, wait.bytes);
      wait.writes.push_back(std::move(past));
    }
    const uint64_t newest = wait.writes.empty() ? 0 : wait.writes.back().sequence;
    if (const auto o = history->operation_write(a, wait.offset); o && o->sequence > newest) {
      PastWrite past;
      past.writer = fmt::format("{}, {}", graph_.facts.owner_of(o->process, ~0u), o->what);
      past.sequence = o->sequence;
      past.time = o->time;
      past.kind = WriteHistory::Kind::operation;
      past.process = o->process;
      past.value = part_of(now, within, wait.bytes);
      wait.writes.push_back(std::move(past));
    }
    const uint64_t last = wait.writes.empty() ? 0 : wait.writes.back().sequence;
    if (const auto wide = history->wide_write(a, wait.offset); wide && wide->sequence > last) {
      WriteHistory::Write w;
      w.sequence = wide->sequence;
      w.time = wide->time;
      w.grid = wide->grid;
      w.block = wide->block;
      w.warp = static_cast<uint16_t>(wide->warp);
      w.function = wide->function;
      w.index = wide->index;
      wait.writes.push_back(past_write(w));
    }
  }

  // Memory that is the same by size and name, as ranks allocate it, has the same words at the same places.
  void add_known_stores(Wait& wait) {
    const WriteHistory* history = graph_.facts.history;
    if (!history || wait.kind != WaitKind::memory || wait.bytes > WriteHistory::kWord) return;
    if (!has_words_) words_ = history->words();
    has_words_ = true;
    std::map<StoreSite, std::string> own, of_others, before, behind;
    for (const auto& word : words_) {
      const auto memory = word.memory.lock();
      if (!memory || memory->size != wait.allocation->size || memory->label != wait.allocation->label) continue;
      for (const auto& write : word.writes) {
        const uint64_t at = word.word * WriteHistory::kWord + write.offset;
        const KnownGrid* grid = write.kind == WriteHistory::Kind::operation ? nullptr : history->find_grid(write.grid);
        if (!grid || at + write.bytes + wait.bytes < wait.offset || at > wait.offset + 2 * wait.bytes) continue;
        const StoreSite site(grid->module->functions[write.function].name, write.index);
        const std::string where = past_write(write).where;
        const bool here = memory.get() == wait.allocation;
        if (at < wait.offset + wait.bytes && wait.offset < at + write.bytes) {
          // It was signalled in this call: what is waited for is another signal, of a store that is not known.
          if (here && is_of_this_call(wait, *grid)) return;
          (here ? own : of_others)[site] = where;
        } else if (here && at + write.bytes == wait.offset) {
          before[site] = where;
        } else if (here && at == wait.offset + wait.bytes) {
          behind[site] = where;
        }
      }
    }
    const auto take = [&](const std::map<StoreSite, std::string>& sites, StoreEvidence evidence) {
      for (const auto& [site, where] : sites) wait.stores.push_back({site, evidence, where});
    };
    take(own, StoreEvidence::this_word);
    if (wait.stores.empty()) take(of_others, StoreEvidence::other_ranks);
    if (!wait.stores.empty()) return;
    std::erase_if(before, [&](const auto& s) { return !behind.contains(s.first); });
    take(before, StoreEvidence::neighbours);
  }

  uint64_t call_of(const Wait& wait) const {
    return wait.run != Wait::kNone ? graph_.facts.runs[wait.run].call : graph_.facts.ops[wait.op].call;
  }

  // One of another call still has the stores of its next launches before it.
  bool is_of_this_call(const Wait& wait, const BlockedRun& run) const {
    if (call_of(wait) != 0) return run.call == call_of(wait);
    if (wait.run == Wait::kNone) return false;
    const BlockedRun& own = graph_.facts.runs[wait.run];
    return own.launch == run.launch && own.run->grid.kernel->name == run.run->grid.kernel->name;
  }

  bool is_of_this_call(const Wait& wait, const KnownGrid& grid) const {
    if (call_of(wait) != 0) return grid.call == call_of(wait);
    if (wait.run == Wait::kNone) return true;
    const BlockedRun& own = graph_.facts.runs[wait.run];
    return own.launch == grid.launch && own.run->grid.kernel->name == grid.kernel;
  }

  // The store writes other words in this kernel: it has run several times, and none of them wrote this one.
  static bool has_never_meant(const Wait& wait, const BlockedRun& run) {
    constexpr uint64_t kSeveral = 2;
    return run.launch > kSeveral && !wait.stores.empty() && wait.stores.front().evidence != StoreEvidence::this_word;
  }

  static bool may_come_to(const Wait& wait, const StoreTargets& targets) {
    return wait.stores.empty() ||
           std::ranges::any_of(wait.stores, [&](const KnownStore& s) { return targets.sites.contains(s.site); });
  }

  PastWrite past_write(const WriteHistory::Write& w) const { return make_past_write(w, graph_.facts); }

  // Edges
  StoreAnalysis& analysis_of_run(size_t r) {
    auto& known = run_analyses_[r];
    if (!known) {
      const BlockedRun& blocked = graph_.facts.runs[r];
      known = std::make_unique<StoreAnalysis>(facts_of(blocked.run->grid, blocked.space, blocked.address_of));
    }
    return *known;
  }

  static LaunchFacts facts_of(const simt::Grid& grid, const mem::AddressSpace* space,
                              const std::function<mem::Address(std::string_view)>& address_of) {
    return {grid.program->module, grid.kernel->index, &grid.params, &grid.kernel->param_offsets, space, address_of};
  }

  // From the current instruction of the waiting threads to the end of the kernel.
  const StoreTargets& targets_of(size_t wait) {
    const auto [found, is_new] = targets_.try_emplace(wait);
    if (!is_new) return found->second;
    const size_t r = graph_.waits[wait].run;
    const simt::Split& s = *graph_.waits[wait].threads.front().split;
    const simt::Program& program = *graph_.facts.runs[r].run->grid.program;
    StoreAnalysis& analysis = analysis_of_run(r);
    const auto from = [&](const simt::Inst* inst) -> const StoreTargets& {
      const simt::Origin origin = program.origins[inst->origin];
      return analysis.from(origin.function, origin.index);
    };
    StoreTargets& all = found->second;
    all.add(from(s.ip));
    for (const simt::CallFrame& frame : s.calls) {
      if (frame.return_to) all.add(from(frame.return_to));
    }
    return all;
  }

  void add_edges(size_t k) {
    switch (graph_.waits[k].kind) {
      case WaitKind::memory:
        return add_writers(k);
      case WaitKind::shared_memory:
      case WaitKind::mbarrier:
        return add_block_writers(k);
      case WaitKind::block_barrier:
        return add_missing(k, [](const Wait& w, const WaitingThreads& self, const WaitingThreads& t) {
          if (&self.warp->block() != &t.warp->block()) return false;
          const auto& arrived = self.warp->block().barrier(w.barrier).warps;
          return t.index >= arrived.size() || (t.lanes & ~arrived[t.index].arrived) != 0;
        });
      case WaitKind::cluster_barrier:
        return add_missing(k, [](const Wait&, const WaitingThreads& self, const WaitingThreads& t) {
          const simt::Cluster* cluster = self.warp->block().cluster;
          const bool together = cluster ? t.warp->block().cluster == cluster : &self.warp->block() == &t.warp->block();
          return together && t.split->state != SplitState::cluster_barrier;
        });
      case WaitKind::lanes:
        return add_missing(k, [](const Wait& w, const WaitingThreads& self, const WaitingThreads& t) {
          // Lanes that have come to the same instruction wait for the others, too.
          const bool together = self.split->ip == t.split->ip && self.split->state == t.split->state;
          return self.warp == t.warp && !together && (t.lanes & w.missing_lanes) != 0;
        });
      case WaitKind::copies:
      case WaitKind::nothing:
        return;
    }
  }

  // Waits of threads that `is_missing` names, for the group's first threads.
  template <class F>
  void add_missing(size_t k, F is_missing) {
    Wait& wait = graph_.waits[k];
    const WaitingThreads self = wait.threads.front();
    for (size_t other = 0; other < graph_.waits.size(); ++other) {
      const Wait& o = graph_.waits[other];
      if (other == k || o.run != wait.run) continue;
      if (std::ranges::any_of(o.threads, [&](const auto& t) { return is_missing(wait, self, t); }))
        wait.waits.push_back(other);
    }
  }

  void add_block_writers(size_t k) {
    Wait& wait = graph_.waits[k];
    const simt::Block& block = wait.threads.front().warp->block();
    const bool mbarrier = wait.kind == WaitKind::mbarrier;
    for (size_t other = 0; other < graph_.waits.size(); ++other) {
      const Wait& o = graph_.waits[other];
      if (o.run != wait.run || o.threads.empty()) continue;
      const auto here = std::ranges::find_if(o.threads, [&](const WaitingThreads& t) {
        const simt::Block& b = t.warp->block();
        return &b == &block || (block.cluster && b.cluster == block.cluster);
      });
      if (here == o.threads.end()) continue;
      const StoreTargets& targets = targets_of(other);
      if (!(mbarrier ? targets.mbarrier : targets.shared)) continue;
      if (other == k) {
        wait.itself = true;
      } else {
        wait.waits.push_back(other);
      }
    }
  }

  void add_writers(size_t k) {
    Wait& wait = graph_.waits[k];
    const mem::Allocation* a = wait.allocation;
    if (!a) return;
    const DeadlockSnapshot& facts = graph_.facts;
    for (size_t other = 0; other < graph_.waits.size(); ++other) {
      const Wait& o = graph_.waits[other];
      if (o.run == Wait::kNone || !targets_of(other).has(a)) continue;
      if (is_of_this_call(wait, facts.runs[o.run]) &&
          (!may_come_to(wait, targets_of(other)) || has_never_meant(wait, facts.runs[o.run])))
        continue;
      if (other == k) {
        wait.itself = true;
      } else {
        wait.waits.push_back(other);
      }
    }
    for (size_t r = 0; r < facts.runs.size(); ++r) {
      const GridRun& run = *facts.runs[r].run;
      const StoreTargets& all = analysis_of_run(r).from_entry();
      const bool may = all.has(a) && may_come_to(wait, all);
      if (may && run.next_block < run.grid.grid.count()) wait.unstarted.push_back(r);
      if (may) add_ended_threads(wait, r);
    }
    for (size_t w = 0; w < facts.ops.size(); ++w) {
      const BlockedOp& op = facts.ops[w];
      // A call waits for what is done in it: the next call does the same for itself.
      if (op.call > call_of(wait)) continue;
      const bool bytes = op.writes == a && op.begin < wait.offset + wait.bytes && wait.offset < op.end;
      auto& known = op_analyses_[w];
      if (op.grid && !known) known = std::make_unique<StoreAnalysis>(facts_of(*op.grid, op.space, op.address_of));
      const bool may = op.grid && known->from_entry().has(a) && may_come_to(wait, known->from_entry());
      if (bytes || may) wait.ops.push_back(w);
    }
    wait.host = a->device == mem::kHostMemory || a->shared;
    add_ended_grids(wait);
  }

  void add_ended_threads(Wait& wait, size_t r) const {
    const BlockedRun& blocked = graph_.facts.runs[r];
    const GridRun& run = *blocked.run;
    uint64_t exited = 0, blocks = 0;
    for (const auto& block : run.blocks) {
      uint64_t here = 0;
      for (const auto& warp : block->warps()) here += static_cast<uint64_t>(std::popcount(warp->exited()));
      exited += here;
      blocks += here != 0 ? 1 : 0;
    }
    const std::string kernel = short_name(run.grid.kernel->name);
    const std::string of = blocked.owner.empty() ? "" : blocked.owner + ", ";
    if (run.finished_blocks != 0)
      wait.ended_blocks.push_back(fmt::format("{}kernel {}: {} of its blocks", of, kernel, run.finished_blocks));
    if (exited != 0)
      wait.ended_threads.push_back(fmt::format("{}kernel {}: {} threads of {} block{} that wait{}", of, kernel, exited,
                                               blocks, blocks == 1 ? "" : "s", blocks == 1 ? "s" : ""));
  }

  // Kernels that have ended, of processes that still run; rank_has_left() covers the others.
  void add_ended_grids(Wait& wait) {
    const DeadlockSnapshot& facts = graph_.facts;
    if (!facts.history) return;
    for (const KnownGrid& grid : facts.history->grids()) {
      if (!grid.ended || grid.call != call_of(wait)) continue;
      const auto same_process = [&](const BlockedRun& r) {
        return r.process == grid.process && r.run->gpu == grid.device;
      };
      const auto found = std::ranges::find_if(facts.runs, same_process);
      const auto* space = spaces_of(grid, found == facts.runs.end() ? nullptr : &*found);
      if (!space) continue;
      auto& known = grid_analyses_[grid.id];
      if (!known) {
        known = std::make_unique<StoreAnalysis>(
            LaunchFacts{grid.module.get(), grid.function, &grid.params, &grid.param_offsets, space, {}});
      }
      if (!known->from_entry().has(wait.allocation) || !may_come_to(wait, known->from_entry())) continue;
      if (std::ranges::any_of(wait.writes, [&](const PastWrite& w) { return w.grid == grid.id; })) continue;
      wait.ended_kernels.push_back(fmt::format("{}, kernel {}, launch {}", facts.owner_of(grid.process, grid.device),
                                               short_name(grid.kernel), grid.launch));
    }
  }

  const mem::AddressSpace* spaces_of(const KnownGrid& grid, const BlockedRun* run) const {
    if (run) return run->space;
    return graph_.facts.space_of ? graph_.facts.space_of(grid.process, grid.device) : nullptr;
  }

  using Key = std::tuple<size_t, const simt::Inst*, const simt::Inst*, uint32_t, const mem::Allocation*, uint64_t,
                         std::string, uint32_t, simt::Mask, std::pair<uint32_t, uint64_t>>;
  WaitGraph graph_;
  bool has_words_ = false;
  std::vector<WriteHistory::Word> words_;  // of the history, once they were asked for
  std::map<Key, size_t> groups_;
  size_t most_waits_ = 0;
  std::map<size_t, StoreTargets> targets_;
  std::map<uint64_t, std::unique_ptr<StoreAnalysis>> run_analyses_, op_analyses_, grid_analyses_;
};

}  // namespace

WaitGraph make_wait_graph(DeadlockSnapshot facts) { return Builder(std::move(facts)).build(); }

PastWrite make_past_write(const WriteHistory::Write& w, const DeadlockSnapshot& facts) {
  PastWrite past;
  past.sequence = w.sequence;
  past.time = w.time;
  past.kind = w.kind;
  past.grid = w.grid;
  past.block = w.block;
  past.warp = w.warp;
  past.seen_by = w.seen_by;
  if (w.kind == WriteHistory::Kind::operation) {
    const auto* o = facts.history->find_operation(w.grid);
    past.process = o ? o->process : 0;
    past.writer = o ? fmt::format("{}, {}", facts.owner_of(o->process, ~0u), o->what) : "an operation of a stream";
    return past;
  }
  const KnownGrid* grid = facts.history->find_grid(w.grid);
  if (!grid) {
    past.writer = "a kernel that is no longer recorded";
    return past;
  }
  past.process = grid->process;
  past.kernel = grid->kernel;
  past.launch = grid->launch;
  past.call = grid->call;
  past.writer = fmt::format("{}, kernel {}, launch {}, block {}, warp {}", facts.owner_of(grid->process, grid->device),
                            short_name(grid->kernel), grid->launch, w.block, w.warp);
  const ptx::Function& f = grid->module->functions[w.function];
  if (w.index < f.body.size()) {
    const ptx::SourceLine& line = f.body[w.index].source;
    if (line.line != 0 && line.file < grid->module->files.size())
      past.where = fmt::format("{}:{}", grid->module->files[line.file], line.line);
  }
  return past;
}

std::string short_name(const std::string& mangled) { return short_function_name(demangle(mangled)); }

std::string short_location(const simt::SourceLocation& at) {
  return at.line != 0 ? fmt::format("{}:{}", at.file, at.line) : fmt::format("PTX line {}", at.ptx_line);
}

}  // namespace fb::machine
