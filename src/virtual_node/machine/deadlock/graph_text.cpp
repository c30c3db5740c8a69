#include "virtual_node/machine/deadlock/graph_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "common/base/demangle.h"
#include "common/base/text_limits.h"

namespace fb::machine {
namespace {

constexpr size_t kMostLines = 40;
constexpr size_t kMostWaits = 4;         // of a kernel
constexpr size_t kMostNamedWriters = 3;  // of remaining writers

std::string time_between(uint64_t write, uint64_t look) {
  const bool before = write <= look;
  const uint64_t apart = before ? look - write : write - look;
  return fmt::format("{:.2f} us {} the last load", static_cast<double>(apart) * 1e-6, before ? "before" : "after");
}

// "the same: blocks 1 to 63, warp 0".
std::string the_same(const Wait& wait) {
  if (wait.threads.size() < 2) return {};
  std::set<uint64_t> blocks;
  std::set<uint32_t> warps;
  for (size_t k = 1; k < wait.threads.size(); ++k) {
    blocks.insert(wait.threads[k].block);
    warps.insert(wait.threads[k].index);
  }
  const auto range = [](const char* noun, uint64_t first, uint64_t last) {
    return first == last ? fmt::format("{} {}", noun, first) : fmt::format("{}s {} to {}", noun, first, last);
  };
  return fmt::format("    the same: {} more, {}, {}{}\n", wait.threads.size() - 1,
                     range("block", *blocks.begin(), *blocks.rbegin()), range("warp", *warps.begin(), *warps.rbegin()),
                     wait.words > 1 ? fmt::format(", {} words in all", wait.words) : "");
}

class Text {
 public:
  Text(const WaitGraph& graph, const Finding& finding) : g_(graph), finding_(finding) {}

  std::string all() {
    text_ = fmt::format("{}: {}.\n", to_string(finding_.cause), finding_.sentence);
    if (!finding_.look_at.empty()) text_ += fmt::format("Look at: {}.\n", finding_.look_at);
    if (g_.facts.collective) add_calls(*g_.facts.collective);
    if (g_.facts.cards) add_calls(*g_.facts.cards);
    for (const size_t k : finding_.waits) add_party(g_.waits[k]);
    for (const Wait& w : g_.waits) add_party(w);
    add_runs_without_waits();
    if (g_.not_examined != 0) text_ += fmt::format("\n{} more warps wait and were not examined\n", g_.not_examined);
    add_ops();
    add_hosts();
    return cut();
  }

 private:
  void add_calls(const CollectiveBlame& blame) {
    text_ += '\n';
    for (const std::string& line : blame.calls) text_ += line + "\n";
  }

  // The kernel or stream that a wait belongs to, with all its waits; once.
  void add_party(const Wait& wait) {
    if (wait.run == Wait::kNone) {
      if (!streams_.insert(wait.op).second) return;
      const BlockedOp& op = g_.facts.ops[wait.op];
      text_ += fmt::format("\n{}: a stream waits for a value\n", op.owner);
      add_memory(wait);
      return;
    }
    if (!runs_.insert(wait.run).second) return;
    add_run(wait.run);
    std::vector<const Wait*> waits;
    for (const size_t k : finding_.waits) {
      if (g_.waits[k].run == wait.run) waits.push_back(&g_.waits[k]);
    }
    for (const Wait& w : g_.waits) {
      if (w.run == wait.run && std::ranges::find(waits, &w) == waits.end()) waits.push_back(&w);
    }
    const size_t shown = std::min(waits.size(), at_most(kMostWaits));
    for (size_t k = 0; k < shown; ++k) add_wait(*waits[k]);
    if (waits.size() > shown) text_ += fmt::format("  {} more waits of this kernel\n", waits.size() - shown);
  }

  void add_run(size_t r) {
    const BlockedRun& blocked = g_.facts.runs[r];
    const GridRun& run = *blocked.run;
    const uint64_t unstarted = run.grid.grid.count() - run.next_block;
    text_ += fmt::format("\n{}{}kernel {}{}; blocks: {} resident, {} finished{}\n", blocked.owner,
                         blocked.owner.empty() ? "" : ": ", demangle(run.grid.kernel->name),
                         blocked.launch != 0 ? fmt::format(", launch {}", blocked.launch) : "", run.blocks.size(),
                         run.finished_blocks,
                         unstarted != 0 ? fmt::format(", {} not started: there is no room for them", unstarted) : "");
  }

  void add_runs_without_waits() {
    for (size_t r = 0; r < g_.facts.runs.size(); ++r) {
      if (runs_.insert(r).second) add_run(r);
    }
  }

  void add_wait(const Wait& w) {
    const WaitingThreads& first = w.threads.front();
    text_ += fmt::format(
        "  block {}, warp {}, lanes {:#010x}, at {}{} [PTX line {}: {}]\n", first.block, first.index, first.lanes,
        short_location(w.location),
        w.location.function != w.location.kernel ? fmt::format(" in {}", demangle(w.location.function)) : "",
        w.location.ptx_line, w.location.text);
    switch (w.kind) {
      case WaitKind::memory:
      case WaitKind::shared_memory:
        add_memory(w);
        break;
      case WaitKind::mbarrier:
        text_ += fmt::format(
            "    waits for the mbarrier at {:#x} of shared memory: {} of {} arrivals and {} bytes missing\n",
            w.address & 0xffffffff, w.mbarrier.pending, w.mbarrier.expected, w.mbarrier.tx);
        break;
      case WaitKind::block_barrier:
        text_ += fmt::format("    waits at barrier {}: {} of {} threads have arrived{}\n", w.barrier, w.arrived,
                             w.expected, w.exited != 0 ? fmt::format(", {} have exited", w.exited) : "");
        break;
      case WaitKind::cluster_barrier:
        text_ += "    waits at the barrier of its cluster\n";
        break;
      case WaitKind::lanes:
        text_ += fmt::format("    waits for lanes {:#010x} of its warp\n", w.missing_lanes);
        break;
      case WaitKind::copies:
        text_ += "    waits for its own asynchronous copies\n";
        break;
      case WaitKind::nothing:
        text_ += "    waits for nothing: an endless loop that reads no memory\n";
        break;
    }
    text_ += the_same(w);
  }

  void add_memory(const Wait& w) {
    std::string where = "shared memory";
    if (w.allocation) where = fmt::format("byte {} of {}", w.offset, g_.facts.name_of(*w.allocation));
    text_ += fmt::format("    sees {} in {} bytes{}: {}{}\n", w.seen, w.bytes,
                         w.address != 0 ? fmt::format(" at {:#x}", w.address) : "", where,
                         w.need_text.empty() ? "" : fmt::format("; needs {}", w.need_text));
    if (!w.allocation) return;
    if (!w.writes.empty()) {
      const PastWrite& last = w.writes.back();
      text_ +=
          fmt::format("    last written by {}{}{}{}\n", last.writer, last.where.empty() ? "" : ", at " + last.where,
                      last.value ? fmt::format(": {}", *last.value) : "",
                      w.since != 0 ? ", " + time_between(last.time, w.since) : "");
    } else if (g_.facts.history) {
      text_ += "    never written\n";
    }
    text_ += remaining_writers(w);
    if (w.run == Wait::kNone || !g_.facts.explain_memory) return;
    const std::string cards = g_.facts.explain_memory(g_.facts.runs[w.run].process, w.address);
    if (!cards.empty()) text_ += fmt::format("    {}\n", cards);
  }

  std::string remaining_writers(const Wait& w) const {
    std::vector<std::string> names;
    // One of each kernel; other kernels before its own.
    std::set<size_t> named;
    for (const bool own : {false, true}) {
      for (const size_t k : w.waits) {
        const Wait& writer = g_.waits[k];
        if ((writer.run == w.run) == own && named.insert(writer.run).second)
          names.push_back(name_of(g_, writer) + ", which waits");
      }
    }
    if (w.itself && w.threads.size() > 1) names.push_back("other threads that wait at the same line");
    for (const size_t r : w.unstarted) {
      const BlockedRun& run = g_.facts.runs[r];
      names.push_back(fmt::format("blocks of {}{}{} that have not started", run.owner, run.owner.empty() ? "" : ", ",
                                  short_name(run.run->grid.kernel->name)));
    }
    for (const size_t o : w.ops)
      names.push_back(fmt::format("\"{}\" of {}, which can't begin yet", g_.facts.ops[o].name, g_.facts.ops[o].owner));
    if (w.host) names.push_back("the host, in its own memory");
    if (names.empty()) return "    no remaining writer\n";
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string text = "    could still write it: ";
    const size_t shown = std::min(names.size(), at_most(kMostNamedWriters));
    for (size_t k = 0; k < shown; ++k) text += (k == 0 ? "" : "; ") + names[k];
    if (names.size() > shown) text += fmt::format("; and {} more", names.size() - shown);
    return text + "\n";
  }

  void add_ops() {
    size_t named = 0, left = 0;
    for (const BlockedOp& op : g_.facts.ops) {
      if (op.waits_on && op.begun) continue;
      if (++named > at_most(kMostNamedWriters)) {
        ++left;
        continue;
      }
      text_ += fmt::format("{}{}: \"{}\" {}\n", named == 1 ? "\n" : "", op.owner, op.name,
                           op.begun ? "has begun and does not end" : "can't begin yet");
    }
    if (left != 0) text_ += fmt::format("{} more operations of streams can't begin yet\n", left);
  }

  void add_hosts() {
    bool first = true;
    for (const BlockedHost& h : g_.facts.hosts)
      text_ += std::exchange(first, false) ? "\n" + h.text + "\n" : h.text + "\n";
    for (const RankFacts& rank : g_.facts.ranks) {
      if (!rank.gone) continue;
      text_ += fmt::format("{}{} has ended and can write nothing any more.\n", std::exchange(first, false) ? "\n" : "",
                           rank.name);
    }
  }

  std::string cut() const {
    size_t at = 0, lines = 0;
    while (at < text_.size() && lines < at_most(kMostLines)) {
      at = text_.find('\n', at) + 1;
      ++lines;
    }
    const auto left = std::count(text_.begin() + static_cast<std::ptrdiff_t>(at), text_.end(), '\n');
    return left == 0 ? text_ : text_.substr(0, at) + fmt::format("({} more lines)\n", left);
  }

  const WaitGraph& g_;
  const Finding& finding_;
  std::set<size_t> runs_, streams_;
  std::string text_;
};

}  // namespace

std::string describe(const WaitGraph& graph, const Finding& finding) { return Text(graph, finding).all(); }

}  // namespace fb::machine
