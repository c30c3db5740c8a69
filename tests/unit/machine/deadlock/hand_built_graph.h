#pragma once

// Wait-for graphs built by hand: kernels, waits, past writes and ranks as plain data, without a machine.

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "virtual_node/machine/deadlock/rules.h"

namespace fb::machine {

class HandBuiltGraph {
 public:
  HandBuiltGraph() {
    graph.facts.name_of = [](const mem::Allocation& a) { return a.label; };
    graph.facts.owner_of = [](uint32_t process, uint32_t) { return "rank " + std::to_string(process); };
  }

  // A kernel of `blocks` blocks that runs for rank `process` on a device of its own; all blocks have started.
  size_t add_run(const std::string& kernel, uint32_t process = 0, uint64_t launch = 1, uint32_t blocks = 1) {
    GridRun& run = runs_.emplace_back();
    run.grid.kernel = &kernel_named(kernel);
    run.grid.grid = {blocks, 1, 1};
    run.gpu = process;
    run.next_block = blocks;
    BlockedRun blocked;
    blocked.run = &run;
    blocked.process = process;
    blocked.rank = static_cast<int32_t>(process);
    blocked.owner = "rank " + std::to_string(process);
    blocked.launch = launch;
    graph.facts.runs.push_back(std::move(blocked));
    return graph.facts.runs.size() - 1;
  }
  GridRun& grid_run(size_t run) { return runs_[run]; }

  size_t add_op(const std::string& name, uint32_t process = 0) {
    BlockedOp op;
    op.owner = "rank " + std::to_string(process);
    op.name = name;
    op.process = process;
    op.rank = static_cast<int32_t>(process);
    graph.facts.ops.push_back(std::move(op));
    return graph.facts.ops.size() - 1;
  }
  // A kernel that can't begin yet.
  size_t add_kernel_op(const std::string& kernel, uint32_t process = 0) {
    const size_t op = add_op(kernel, process);
    simt::Grid& grid = grids_.emplace_back();
    grid.kernel = &kernel_named(kernel);
    graph.facts.ops[op].grid = &grid;
    return op;
  }

  RankFacts& add_rank(uint32_t process) {
    graph.facts.ranks.push_back({process, static_cast<int32_t>(process), "rank " + std::to_string(process)});
    return graph.facts.ranks.back();
  }

  BlockedHost& add_host(uint32_t process, const std::string& text) {
    BlockedHost host;
    host.process = process;
    host.rank = static_cast<int32_t>(process);
    host.text = text;
    graph.facts.hosts.push_back(std::move(host));
    return graph.facts.hosts.back();
  }

  // Warp 0 of a block waits at "f.cu:LINE". The reference holds until the next wait is added.
  Wait& add_wait(WaitKind kind, size_t run, uint32_t line = 1, uint64_t block = 0) {
    Wait& wait = graph.waits.emplace_back();
    wait.kind = kind;
    wait.run = run;
    wait.location.file = "f.cu";
    wait.location.line = wait.location.ptx_line = line;
    wait.location.kernel = wait.location.function = graph.facts.runs[run].run->grid.kernel->name;
    wait.location.text = "ld.acquire.sys.u32";
    wait.threads.push_back({nullptr, nullptr, block, 0, 1});
    return wait;
  }
  // A wait for a word of global memory that holds `seen`, which must become `needed`.
  Wait& add_memory_wait(size_t run, uint64_t needed, uint64_t seen, uint32_t line = 1, uint64_t block = 0) {
    Wait& wait = add_wait(WaitKind::memory, run, line, block);
    wait.allocation = &memory();
    wait.bytes = 4;
    wait.seen = seen;
    wait.need = Need{.relation = Relation::equal, .value = needed};
    wait.need_text = wait.need->text();
    return wait;
  }
  // A stream that waits for a value.
  Wait& add_stream_wait(size_t op, uint64_t needed, uint64_t seen) {
    graph.facts.ops[op].waits_on = &memory();
    graph.facts.ops[op].begun = true;
    Wait& wait = graph.waits.emplace_back();
    wait.kind = WaitKind::memory;
    wait.op = op;
    wait.allocation = &memory();
    wait.bytes = 4;
    wait.seen = seen;
    wait.need = Need{.relation = Relation::equal, .value = needed};
    wait.need_text = wait.need->text();
    return wait;
  }

  static PastWrite store(uint64_t value, uint32_t block = 0) {
    PastWrite write;
    write.writer = "block " + std::to_string(block);
    write.where = "f.cu:9";
    write.value = value;
    write.kind = WriteHistory::Kind::store;
    write.block = block;
    return write;
  }

  // Counts a launch, and lets rules ask for it.
  void note_launch(const std::string& kernel, uint32_t process, uint64_t times = 1) {
    graph.facts.history = &history;
    for (; times != 0; --times) {
      KnownGrid grid;
      grid.kernel = kernel;
      grid.process = process;
      history.note_grid(std::move(grid));
    }
  }

  const mem::Allocation& memory() {
    if (!memory_) memory_ = mem::allocate(1, 0, 256, "flags");
    return *memory_;
  }

  WaitGraph graph;
  WriteHistory history;

 private:
  const simt::FunctionInfo& kernel_named(const std::string& name) {
    simt::FunctionInfo& kernel = kernels_.emplace_back();
    kernel.name = name;
    return kernel;
  }

  std::deque<GridRun> runs_;
  std::deque<simt::Grid> grids_;
  std::deque<simt::FunctionInfo> kernels_;
  std::shared_ptr<mem::Allocation> memory_;
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace fb::machine
