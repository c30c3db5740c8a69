#pragma once

// The timeline of a run, for --trace: what streams did, the blocks of kernels, the traffic of links and memories.
//
// A device is a group of rows. Operations are spans in the row of their stream. Blocks are spans in rows of their
// multiprocessor, one row for each block that is resident at the same time. Not all blocks are shown (is_shown), and
// the operation of a kernel says how many are.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/record/trace.h"
#include "virtual_node/fabric/traffic.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

class Timeline final : public BlockWatcher {
 public:
  // A launch of so many blocks is shown with all of them; of larger ones, the first so many blocks on the first
  // multiprocessors, the longest of the others and the one of the others that ended last.
  static constexpr uint64_t kMostOfLaunch = 256;
  static constexpr uint32_t kMultiprocessors = 16;
  static constexpr size_t kMostOfRun = 100'000;
  // Rows below this number are streams.
  static constexpr uint32_t kFirstBlockRow = 1u << 20;

  Timeline(uint32_t devices, const fabric::TrafficLog& traffic);

  void on_launch(const GridRun& run) override;
  void on_block_start(const GridRun& run, const simt::Block& block, Time at) override;
  void on_block_end(const GridRun& run, const simt::Block& block, Time at) override;
  void on_grid_removed(const GridRun& run, Time at) override;

  void add_finished(const Operation& op);

  // To be called once. What has not ended lasts until the end of the run, and says so: `why` is what ended the run, in
  // a word; empty: not known.
  const record::Trace& finish(Time now, const std::vector<std::unique_ptr<Process>>& processes, std::string_view why);

 private:
  struct BlockSpan {
    uint32_t device = 0, sm = 0;
    const std::string* kernel = nullptr;  // its short name
    uint64_t launch = 0, block = 0;
    Time begin = 0, end = 0;
    bool finished = true;
    Time length() const { return end - begin; }
  };
  struct Launch {
    const std::string* kernel = nullptr;
    uint64_t blocks = 0, shown = 0, ended = 0;
    Time longest = 0, sum = 0;                         // of blocks that have ended
    Time last = 0;                                     // the end of its last block
    std::map<uint64_t, BlockSpan> running;             // by block
    std::optional<BlockSpan> left_longest, left_last;  // of those that are not shown
  };

  uint32_t row_of(const Operation& op);
  void add_span(const Operation& op, std::string_view how, Time end, std::string_view why);
  void end_block(Launch& launch, BlockSpan span);
  void show(Launch& launch, const BlockSpan& span);
  // No block of it runs any more.
  void close(Launch& launch, Time at);
  void add_unfinished(const std::vector<std::unique_ptr<Process>>& processes, std::string_view why);
  void add_blocks();
  void add_traffic();

  record::Trace trace_;
  const fabric::TrafficLog* traffic_;
  uint32_t devices_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> rows_;  // of streams, by process and stream
  std::map<uint64_t, Launch> launches_;                     // by Grid::id, until their operations end
  std::set<std::string> kernels_;                           // names of all that were launched
  std::vector<BlockSpan> blocks_;
  Time end_ = 0;  // of everything so far
};

}  // namespace fb::machine
