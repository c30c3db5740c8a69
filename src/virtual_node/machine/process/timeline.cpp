#include "virtual_node/machine/process/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/base/demangle.h"

namespace fb::machine {
namespace {

constexpr uint32_t kMostRowsOfMultiprocessor = 64;

double microseconds(Time t) { return static_cast<double>(t) * 1e-6; }

bool is_shown(uint64_t blocks_of_launch, uint32_t sm) {
  return blocks_of_launch <= Timeline::kMostOfLaunch || sm < Timeline::kMultiprocessors;
}

}  // namespace

Timeline::Timeline(uint32_t devices, const fabric::TrafficLog& traffic) : traffic_(&traffic), devices_(devices) {
  for (uint32_t d = 0; d < devices; ++d) trace_.name_process(d, fmt::format("device {}", d));
}

// Operations

uint32_t Timeline::row_of(const Operation& op) {
  const auto [row, fresh] =
      rows_.try_emplace({op.process->number, op.stream << 8 | op.device}, static_cast<uint32_t>(rows_.size()));
  if (fresh) {
    trace_.name_thread(op.device, row->second,
                       op.stream == 0 ? fmt::format("{}, default stream", name_of(*op.process))
                                      : fmt::format("{}, stream {}", name_of(*op.process), op.stream));
  }
  return row->second;
}

// `how`: behind its name, if it did not end by itself; `why`: what ended it.
void Timeline::add_span(const Operation& op, std::string_view how, Time end, std::string_view why) {
  const std::string name = how.empty() ? op.name : fmt::format("{} [{}]", op.name, how);
  const std::string_view ended = how.empty() ? "finished" : why;
  const auto found = launches_.find(op.launch);
  if (found != launches_.end()) end = std::max(end, found->second.last);
  end_ = std::max(end_, end);
  if (op.collective) {
    const CollectiveNote& c = *op.collective;
    return trace_.add_span(op.device, row_of(op), name, op.begun, end,
                           {{"issued_ns", op.issued / 1000},
                            {"ended", ended},
                            {"algorithm", c.algorithm},
                            {"protocol", c.protocol},
                            {"channels", uint64_t{c.channels}},
                            {"ranks", uint64_t{c.ranks}},
                            {"bytes", c.bytes},
                            {"busbw_GBps", c.bus_bandwidth}});
  }
  if (op.blas) {
    const BlasNote& b = *op.blas;
    return trace_.add_span(op.device, row_of(op), name, op.begun, end,
                           {{"issued_ns", op.issued / 1000},
                            {"ended", ended},
                            {"tile_m", uint64_t{b.tile_m}},
                            {"tile_n", uint64_t{b.tile_n}},
                            {"split_k", uint64_t{b.split}},
                            {"blocks", b.blocks},
                            {"flop", b.flop},
                            {"TFLOPS", b.tflops}});
  }
  if (found == launches_.end())
    return trace_.add_span(op.device, row_of(op), name, op.begun, end,
                           {{"issued_ns", op.issued / 1000}, {"ended", ended}});
  const Launch& launch = found->second;
  const double blocks = static_cast<double>(std::max<uint64_t>(launch.ended, 1));
  trace_.add_span(op.device, row_of(op), name, op.begun, end,
                  {{"issued_ns", op.issued / 1000},
                   {"ended", ended},
                   {"launch", op.launch},
                   {"blocks", launch.blocks},
                   {"blocks_ended", launch.ended},
                   {"blocks_shown", launch.shown},
                   {"longest_block_us", microseconds(launch.longest)},
                   {"mean_block_us", microseconds(launch.sum) / blocks}});
}

void Timeline::add_finished(const Operation& op) {
  // It ended with its process or its context before it began: nothing is to be seen of it.
  if (!op.has_begun) return;
  if (op.status == wire::Status::ok) {
    add_span(op, "", op.ended, "");
  } else if (op.process->gone) {
    add_span(op, "never ended", op.ended, "its process has left");
  } else {
    add_span(op, op.faulted ? "fault" : "ended by a fault", op.ended, wire::to_string(op.status));
  }
  if (op.launch != 0) launches_.erase(op.launch);
}

// Blocks

void Timeline::on_launch(const GridRun& run) {
  Launch& launch = launches_[run.grid.id];
  launch.kernel = &*kernels_.insert(short_function_name(demangle(run.grid.kernel->name))).first;
  launch.blocks = run.grid.grid.count();
}

void Timeline::on_block_start(const GridRun& run, const simt::Block& block, Time at) {
  Launch& launch = launches_[run.grid.id];
  launch.running[block.index()] = {run.gpu, block.sm, launch.kernel, run.grid.id, block.index(), at, at, true};
}

void Timeline::on_block_end(const GridRun& run, const simt::Block& block, Time at) {
  Launch& launch = launches_[run.grid.id];
  const auto found = launch.running.find(block.index());
  if (found == launch.running.end()) return;
  BlockSpan span = found->second;
  launch.running.erase(found);
  span.end = std::max(span.begin, at);
  end_block(launch, span);
}

void Timeline::on_grid_removed(const GridRun& run, Time at) {
  if (const auto found = launches_.find(run.grid.id); found != launches_.end()) close(found->second, at);
}

void Timeline::end_block(Launch& launch, BlockSpan span) {
  launch.last = std::max(launch.last, span.end);
  if (span.finished) {
    ++launch.ended;
    launch.sum += span.length();
    launch.longest = std::max(launch.longest, span.length());
  }
  if (is_shown(launch.blocks, span.sm) && launch.shown < kMostOfLaunch) return show(launch, span);
  if (!launch.left_longest || span.length() > launch.left_longest->length()) launch.left_longest = span;
  if (!launch.left_last || span.end > launch.left_last->end) launch.left_last = span;
}

void Timeline::show(Launch& launch, const BlockSpan& span) {
  if (blocks_.size() >= kMostOfRun) return;
  ++launch.shown;
  end_ = std::max(end_, span.end);
  blocks_.push_back(span);
}

void Timeline::close(Launch& launch, Time at) {
  for (auto& [number, span] : std::exchange(launch.running, {})) {
    span.end = std::max(span.begin, at);
    span.finished = false;
    end_block(launch, span);
  }
  if (launch.left_longest) show(launch, *launch.left_longest);
  if (launch.left_last && launch.left_last->block != launch.left_longest->block) show(launch, *launch.left_last);
  launch.left_longest = launch.left_last = std::nullopt;
}

// The end of the run

const record::Trace& Timeline::finish(Time now, const std::vector<std::unique_ptr<Process>>& processes,
                                      std::string_view why) {
  end_ = std::max(end_, now);
  for (auto& [id, launch] : launches_) close(launch, end_);
  add_unfinished(processes, why.empty() ? "the run has ended" : why);
  add_blocks();
  add_traffic();
  return trace_;
}

void Timeline::add_unfinished(const std::vector<std::unique_ptr<Process>>& processes, std::string_view why) {
  struct Waiting {
    const Operation* first = nullptr;
    uint64_t operations = 0;
  };
  std::map<uint32_t, Waiting> waiting;  // by row: what has never begun
  for (const auto& process : processes) {
    for (const OperationPtr& op : process->pending) {
      if (op->has_ended || op->name.empty()) continue;
      if (op->has_begun) {
        add_span(*op, "never ended", end_, why);
        continue;
      }
      Waiting& w = waiting[row_of(*op)];
      if (++w.operations == 1) w.first = op.get();
    }
  }
  for (const auto& [row, w] : waiting) {
    trace_.add_instant(w.first->device, row,
                       w.operations == 1 ? fmt::format("{} [never began]", w.first->name)
                                         : fmt::format("{} and {} more [never began]", w.first->name, w.operations - 1),
                       end_, {{"operations", w.operations}});
  }
}

void Timeline::add_blocks() {
  std::ranges::sort(blocks_, [](const BlockSpan& a, const BlockSpan& b) {
    return std::tuple(a.device, a.sm, a.begin, a.launch, a.block) <
           std::tuple(b.device, b.sm, b.begin, b.launch, b.block);
  });
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Time>> rows;  // by device and multiprocessor: until when in use
  for (const BlockSpan& span : blocks_) {
    std::vector<Time>& until = rows[{span.device, span.sm}];
    size_t row = 0;
    while (row < until.size() && until[row] > span.begin) ++row;
    const uint32_t thread = kFirstBlockRow + span.sm * kMostRowsOfMultiprocessor +
                            static_cast<uint32_t>(std::min<size_t>(row, kMostRowsOfMultiprocessor - 1));
    if (row == until.size()) {
      until.push_back(0);
      if (row < kMostRowsOfMultiprocessor)
        trace_.name_thread(span.device, thread,
                           row == 0 ? fmt::format("SM {}", span.sm) : fmt::format("SM {}, block {}", span.sm, row + 1));
    }
    until[row] = span.end;
    trace_.add_span(span.device, thread,
                    fmt::format("{} block {}{}", *span.kernel, span.block, span.finished ? "" : " [never ended]"),
                    span.begin, span.end, {{"launch", span.launch}});
  }
}

void Timeline::add_traffic() {
  static constexpr std::pair<fabric::Traffic, const char*> kCurves[] = {
      {fabric::Traffic::peer_out, "link out, GB/s"},
      {fabric::Traffic::peer_in, "link in, GB/s"},
      {fabric::Traffic::memory, "memory, GB/s"},
      {fabric::Traffic::to_host, "to host, GB/s"},
      {fabric::Traffic::from_host, "from host, GB/s"}};
  const Time interval = traffic_->interval();
  for (uint32_t d = 0; d < devices_; ++d) {
    for (const auto& [kind, name] : kCurves) {
      const auto& bytes = traffic_->bytes(d, kind);
      uint64_t last = 0;
      for (size_t k = 0; k < bytes.size(); ++k) {
        if (bytes[k] == last && k != 0) continue;
        last = bytes[k];
        trace_.add_counter(d, name, k * interval, static_cast<double>(last) / static_cast<double>(interval) * 1e3);
      }
      if (!bytes.empty()) trace_.add_counter(d, name, bytes.size() * interval, 0);
    }
  }
}

}  // namespace fb::machine
