#pragma once

// Connects the node with the race detector: the clocks of operations and hosts.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/record/run_record.h"
#include "virtual_node/machine/process/findings.h"
#include "virtual_node/machine/process/operation.h"
#include "virtual_node/race/detector.h"
#include "virtual_node/simt/listener.h"

namespace fb::machine {

class Checking {
 public:
  // `clock` receives every event before the detector.
  Checking(const race::Options& options, simt::Listener& clock, Findings findings);
  ~Checking();

  void look_for_uninitialised();

  // For grids.
  simt::Listener& listener();
  race::Detector& detector() { return detector_; }
  const race::Detector& detector() const { return detector_; }
  const std::vector<std::string>& history() const { return detector_.history(); }
  void fill(record::RunRecord& record) const {
    findings_.fill(record, detector_.further_races());
    record.races_thinned_out = detector_.is_thinned_out();
    record.checked.accesses = detector_.accesses();
    record.checked.card_accesses = card_accesses_;
  }

  // An operation inherits the clock of its host. Where hosts may communicate unobserved (`hosts_talk`), it is also
  // ordered after all work of other processes that had ended when all hosts last waited.
  void issued(Operation& op, bool hosts_talk);
  void begun(Operation& op);
  void ended(Operation& op);
  // For operations that are parts of another one: the clock with which they begin, and what it inherits from them.
  race::ClockRef so_far(const Operation& op) { return op.checked != 0 ? detector_.so_far(op.checked) : op.incoming; }
  void inherit(const Operation& op, const race::ClockRef& clock) { detector_.inherit(op.checked, clock); }
  // A part of an operation that is concurrent with its other parts, an agent of its own: its accesses are named by it.
  // `where`: the host's call as "file:line", or empty; `before`: what else happens before it.
  uint32_t begin_part(const Operation& op, uint32_t part, std::string name, std::string_view where,
                      const race::ClockRef& before = nullptr);
  // What happens behind the part begins with this clock; the operation inherits it.
  race::ClockRef end_part(const Operation& op, uint32_t part);
  race::ClockRef join(const race::ClockRef& a, const race::ClockRef& b) { return detector_.join(a, b); }
  void access_of_part(uint32_t part, simt::AccessKind kind, mem::Allocation& allocation, const std::byte* at,
                      uint64_t bytes);
  // A part of a work request of a network card, from its beginning to its end. `epoch`: its place among those with
  // which it is in order (card_stream).
  race::StreamEpoch card_stream(uint32_t process, uint64_t pair, uint32_t kind);
  struct CardTouch {
    race::OperationInfo info;  // all but `number`
    std::string_view where;    // the line of the request
    simt::AccessKind kind{};
    race::ClockRef incoming;
  };
  void card_touches(CardTouch&& touch, mem::Allocation& allocation, const std::byte* at, uint64_t bytes);
  race::ClockRef released_to_card(mem::Allocation& allocation, const std::byte* at, uint64_t bytes) {
    return detector_.released_to_card(allocation, static_cast<uint64_t>(at - allocation.bytes.get()), bytes);
  }
  // What a host knows when it makes a call; where hosts may talk unobserved, and cards are used, what others
  // knew when all last waited, too.
  race::ClockRef host_knows(uint32_t process, bool hosts_talk);
  // Accesses of host code, one after the other: each begins with what the host knows, and adds to it.
  void observe_host(uint32_t process) { observed_.insert(process); }
  uint32_t begin_host(uint32_t process, int32_t rank);
  void end_host(uint32_t process, uint32_t operation) {
    detector_.host_acquires(process, detector_.end_operation(operation));
  }
  // The host may have heard something of hosts that are not observed.
  void host_hears_unobserved(uint32_t process);
  void host_learns(uint32_t process, const race::ClockRef& clock) { detector_.host_acquires(process, clock); }

  // The host of this process has waited for the operation.
  void host_acquires(uint32_t process, const Operation& op);
  // A barrier of these hosts.
  void synchronise_hosts(const std::vector<uint32_t>& processes);
  // All work has ended, and these hosts have waited for it.
  void hosts_acquire_all(const std::vector<uint32_t>& processes);
  // All hosts wait: they may have told each other of all work that has ended by now.
  void all_hosts_wait();

  // Memory that processes share: every close must happen before the free. A report otherwise.
  void opened(uint32_t process, uint64_t token);
  void closed(uint32_t process, uint64_t token);
  void freed(uint32_t process, int32_t rank, uint64_t token);
  // Of a judged run. Memory that is freed too early is reported at the end of the step in which it was: if that ends
  // with an exception, objects were destroyed because of it, and the exception is what there is to say.
  void begin_steps() { in_steps_ = true; }
  void end_step(uint32_t process, bool threw);

  // Accesses of the judge to memory, while no operation runs.
  uint32_t begin_judge_access(uint32_t process, int32_t rank, uint32_t device);
  void end_judge_access(uint32_t process, uint32_t operation);

  // Bytes that an operation is about to read or write.
  void access(const Operation& op, simt::AccessKind kind, mem::Allocation* allocation, const std::byte* at,
              uint64_t bytes);

 private:
  class Both;

  void report_early_free(int32_t rank);
  race::StreamEpoch next_epoch(uint32_t process, uint32_t device, uint64_t stream, uint32_t graph_node);

  std::unique_ptr<Both> both_;
  Findings findings_;
  race::Detector detector_;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>, race::StreamEpoch> streams_;
  std::map<uint32_t, race::ClockRef> ended_, ended_before_;    // by process; before: when all hosts last waited
  std::unordered_map<uint32_t, race::ClockRef> known_before_;  // by process: what hosts knew then
  std::set<uint32_t> observed_;                                // processes whose own accesses and contacts are known
  std::map<uint32_t, uint32_t> numbers_;                       // of operations, by process
  uint64_t card_accesses_ = 0;
  bool in_steps_ = false;
  bool has_cards_ = false;  // network cards have been used: only they tell hosts of other hosts' work so early
  std::map<uint32_t, int32_t> freed_in_step_;  // process → rank
  // By token, and by the process that opened it: when it was closed.
  std::map<uint64_t, std::map<uint32_t, std::optional<race::StreamEpoch>>> openings_;
};

}  // namespace fb::machine
