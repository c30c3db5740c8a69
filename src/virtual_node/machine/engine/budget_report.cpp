#include "virtual_node/machine/engine/budget_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "common/base/demangle.h"
#include "common/base/text_limits.h"
#include "virtual_node/machine/engine/instruction_location.h"

namespace fb::machine {
namespace {

constexpr size_t kMostRuns = 8, kMostLines = 3, kMostValues = 3, kMostEnded = 4;

// "file.cu:12" with its share, the hottest first.
std::string hottest_lines(const GridRun& run) {
  std::map<std::pair<std::string, uint32_t>, uint64_t> lines;
  uint64_t all = 0;
  for (const auto& [origin, quanta] : run.quanta_at) {
    const simt::SourceLocation at = location_in(*run.grid.program, origin);
    lines[{at.file, at.line}] += quanta;
    all += quanta;
  }
  std::vector<std::pair<std::pair<std::string, uint32_t>, uint64_t>> sorted(lines.begin(), lines.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (size_t k = 0; k < std::min(sorted.size(), at_most(kMostLines)); ++k) {
    const auto& [line, quanta] = sorted[k];
    text += fmt::format("{}{}:{} ({} %)", text.empty() ? "" : ", ", line.first, line.second, quanta * 100 / all);
  }
  return text;
}

// What its waiting or polling warps have read last.
std::string values_seen(const GridRun& run) {
  std::string text;
  size_t named = 0;
  for (const auto& block : run.blocks) {
    for (const auto& warp : block->warps()) {
      std::vector<simt::WatchedRead> reads;
      for (const simt::PollWatch::Read& r : warp->poll_watch().reads()) reads.push_back(r.read);
      for (const simt::Split& s : warp->splits()) reads.insert(reads.end(), s.asleep_on.begin(), s.asleep_on.end());
      for (const simt::WatchedRead& r : reads) {
        if (++named > at_most(kMostValues)) return text;
        uint64_t value = 0;
        std::memcpy(&value, r.seen, std::min<size_t>(r.bytes, sizeof value));
        const simt::SourceLocation at = location_of(run.grid, *r.inst);
        text += fmt::format("  block {}, warp {} sees {} in {} bytes at {}, at {}:{}\n", block->index(), warp->index(),
                            value, r.bytes, run.environment->describe(r.guest), at.file, at.line);
      }
    }
  }
  return text;
}

}  // namespace

std::string explain_work(const Engine& engine, const std::function<std::string(const GridRun&)>& name) {
  std::vector<const GridRun*> runs;
  for (const auto& run : engine.runs()) runs.push_back(run.get());
  std::ranges::sort(runs, [](const GridRun* a, const GridRun* b) {
    return a->instructions != b->instructions ? a->instructions > b->instructions : a->grid.id < b->grid.id;
  });
  std::string text;
  for (size_t k = 0; k < std::min(runs.size(), at_most(kMostRuns)); ++k) {
    const GridRun& run = *runs[k];
    text += fmt::format("{}: kernel {}: {} instructions; blocks: {} of {} started, {} finished\n", name(run),
                        demangle(run.grid.kernel->name), run.instructions, run.next_block, run.grid.grid.count(),
                        run.finished_blocks);
    if (const std::string lines = hottest_lines(run); !lines.empty()) text += "  most of the time at " + lines + "\n";
    text += values_seen(run);
  }
  std::vector<std::pair<std::string, Engine::Ended>> ended;
  for (const auto& [kernel, all] : engine.ended())
    ended.emplace_back(fmt::format("device {}: kernel {}", kernel.first, demangle(kernel.second)), all);
  std::ranges::sort(ended, [](const auto& a, const auto& b) {
    return a.second.instructions != b.second.instructions ? a.second.instructions > b.second.instructions
                                                          : a.first < b.first;
  });
  for (size_t k = 0; k < std::min(ended.size(), at_most(kMostEnded)); ++k) {
    const auto& [kernel, all] = ended[k];
    text += fmt::format("{}: {} launches have ended, with {} blocks and {} instructions\n", kernel, all.launches,
                        all.blocks, all.instructions);
  }
  return text;
}

}  // namespace fb::machine
