#pragma once

// The race detector: happens-before with the scopes of PTX, over every access of every agent of a node. It sees all
// accesses in the order in which the machine performs them, and asks of every two that conflict whether the program
// orders them, whatever the schedule was. The rules are those of docs/reference/memory_model.md.
//
// In the same run it can be the adversary: where the newest write does not happen before a load, the load may return
// older bytes, as on hardware where the store is not visible yet (weak delivery).
//
// The detector itself only listens and distributes: shadow memory and its check are in access_check.h, clocks and
// happens-before in sync_*.h, reports in race_reporter.h and rules_of_*.cpp.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/agents/happens_before.h"
#include "virtual_node/race/agents/shadow_memory.h"
#include "virtual_node/race/agents/sync_state.h"
#include "virtual_node/race/check/access_check.h"
#include "virtual_node/race/check/access_history.h"
#include "virtual_node/race/check/stale_values.h"
#include "virtual_node/race/check/uninitialised_reads.h"
#include "virtual_node/race/clocks/options.h"
#include "virtual_node/race/report/race_reporter.h"
#include "virtual_node/race/report/report.h"
#include "virtual_node/race/report/report_names.h"
#include "virtual_node/race/shadow/looked_at.h"
#include "virtual_node/race/sync/sync_async.h"
#include "virtual_node/race/sync/sync_barriers.h"
#include "virtual_node/race/sync/sync_cards.h"
#include "virtual_node/race/sync/sync_fences.h"
#include "virtual_node/race/sync/sync_flags.h"
#include "virtual_node/race/sync/sync_hosts.h"
#include "virtual_node/race/sync/sync_stream.h"
#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/listener.h"

namespace fb::race {

class Detector final : public simt::Listener {
 public:
  Detector(const Options& options, LocateFn locate, ReportFn report);

  // Operations of streams. `incoming`: the join of the clocks of its predecessors and of the host that issued it.
  uint32_t begin_operation(OperationInfo info, const ClockRef& incoming) {
    return state_.live.begin_operation(std::move(info), incoming);
  }
  // Returns the clock that successors in stream order inherit.
  ClockRef end_operation(uint32_t operation) { return streams_.end_operation(operation); }
  // The blocks of this grid belong to the operation from now on.
  void begin_grid(uint64_t grid, uint32_t operation) { state_.live.begin_grid(grid, operation); }
  // What has happened before the operation and in parts of it that have ended; what its successors inherit besides.
  ClockRef so_far(uint32_t operation) { return streams_.so_far(operation); }
  void inherit(uint32_t operation, const ClockRef& clock) { streams_.inherit(operation, clock); }
  // A thread launches a grid, which begins with this clock.
  ClockRef launch_clock(simt::Warp& w, uint32_t lane) { return streams_.launch_clock(w, lane); }
  // Bytes that an operation other than a kernel reads or writes: copies, fills, the judge.
  void access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset, uint64_t bytes) {
    streams_.access(operation, kind, allocation, offset, bytes);
  }
  // A strong access of a stream to a word (cuStreamWriteValue, cuStreamWaitValue).
  void write_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
    streams_.write_value(operation, allocation, offset, bytes);
  }
  void wait_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes) {
    streams_.wait_value(operation, allocation, offset, bytes);
  }

  // Bytes that a network card reads, writes or updates for a work request: words, as others may poll them.
  void card_access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset, uint64_t bytes) {
    cards_.access(operation, kind, allocation, offset, bytes);
  }
  // What has been released to a card that reads these words.
  ClockRef released_to_card(mem::Allocation& allocation, uint64_t offset, uint64_t bytes) {
    return cards_.released(allocation, offset, bytes);
  }

  // Accesses of host code: plain ones, and atomic ones to a word.
  Site host_site(const std::string& line) { return state_.agents.host_site(line); }
  void host_access(uint32_t operation, AccessKind kind, Site site, mem::Allocation& allocation, uint64_t offset,
                   uint64_t bytes) {
    hosts_.access(operation, kind, site, allocation, offset, bytes);
  }
  void host_word(uint32_t operation, AccessKind kind, Site site, mem::Allocation& allocation, uint64_t offset,
                 uint32_t bytes, bool releases) {
    hosts_.word(operation, kind, site, allocation, offset, bytes, releases);
  }

  // The clock of a host process: acquired from its devices through shared memory, or by waiting for operations.
  ClockRef host_clock(uint32_t host) const { return state_.hosts.of(host); }
  const std::unordered_map<uint32_t, ClockRef>& host_clocks() const { return state_.hosts.all(); }
  void host_acquires(uint32_t host, const ClockRef& clock) { state_.hosts.acquire(host, clock); }
  // Joins of clocks of operations outside the detector use the same memo.
  ClockRef join(const ClockRef& a, const ClockRef& b) { return state_.joiner.join(a, b); }

  // How many accesses races were looked for in.
  uint64_t accesses() const { return check_.accesses(); }
  // How often races were found at the lines of each report again (RaceReporter::further).
  const std::vector<uint64_t>& further_races() const { return reporter_.further(); }

  // Reads of device memory that nothing has written are reported from now on.
  void look_for_uninitialised(ReportFn report) { unwritten_.look_for(std::move(report)); }

  // Whether stores may arrive late where nothing orders them (weak delivery).
  void deliver_late(bool on) { stale_.turn(on && !is_thinned_out_); }
  // A program that makes very many accesses is looked at in a part of its memory from some point on, where it would
  // take minutes otherwise: nothing that is reported changes its meaning, and a race may be missed.
  bool is_thinned_out() const { return is_thinned_out_; }

  // Before a module is unloaded: its instructions can't be named any more.
  void forget(const simt::Program& program) { state_.agents.forget(program); }
  // Loads that have returned old bytes and did not come again (old_reads.h).
  OldReads& old_reads() { return old_reads_; }
  const OldReads& old_reads() const { return old_reads_; }
  // Every access to the byte that Options::why names, a line each.
  const std::vector<std::string>& history() const { return history_.lines(); }

  // simt::Listener
  void on_access(simt::Warp& w, const simt::Access& access) override;
  void on_sync(simt::Warp& w, const simt::Sync& sync) override;
  void on_warp_start(simt::Warp& w) override {
    w.block().shared_observed = looked_at_.at_block(w.block().grid().id, w.block().index());
    state_.live.start_warp(w);
  }
  void on_warp_exit(simt::Warp& w) override { state_.live.exit_warp(w); }
  void on_copy_issue(const simt::AsyncCopy& copy) override { copies_.issue(copy); }
  void on_copy_begin(const simt::AsyncCopy& copy) override { copies_.begin(copy); }
  void on_copy_end(const simt::AsyncCopy& copy) override { copies_.end(copy); }
  void on_mbarrier_signal(simt::Block& owner, const std::byte* at) override { copies_.signal_mbarrier(owner, at); }
  void on_copies_arrive(simt::Warp& w, uint32_t lane, uint64_t before, simt::Block& owner,
                        const std::byte* at) override {
    copies_.arrive(w, lane, before, owner, at);
  }

 private:
  void thin_out();
  AccessContext context_of(WarpState& s, const simt::Access& access) const;
  bool is_left_out(simt::Warp& w, const simt::Access& access, mem::Address first) const;
  // `is_volatile`: it is, and its order is the one that is meant (Options::allow_volatile).
  void check_access(simt::Warp& w, const simt::Access& access, bool is_volatile);

  const Options options_;
  LookedAt looked_at_{options_};
  SyncState state_;
  HappensBefore order_;
  ShadowMemory memory_;
  ReportNames names_;
  OldReads old_reads_;
  StaleValues stale_;
  AccessHistory history_;
  RaceReporter reporter_;
  UninitialisedReads unwritten_;
  AccessCheck check_;
  FlagSync flags_;
  FenceSync fences_;
  BarrierSync barriers_;
  AsyncSync copies_;
  StreamSync streams_;
  CardSync cards_;
  HostSync hosts_;
  bool is_thinned_out_ = false;
};

}  // namespace fb::race
