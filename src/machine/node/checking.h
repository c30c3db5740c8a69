#pragma once

// The node's side of the race checker: which operation knows of which, and what hosts know.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "machine/node/operation.h"
#include "race/detector.h"
#include "record/run_record.h"
#include "simt/listener.h"

namespace fb::machine {

class Checking {
 public:
  using Report = std::function<void(record::Incident)>;

  // `clock` is told of everything first.
  Checking(const race::Options& options, bool keep_going, simt::Listener& clock, Report report);
  ~Checking();

  // For grids.
  simt::Listener& listener();
  race::Detector& detector() { return detector_; }
  const std::vector<std::string>& history() const { return detector_.history(); }

  // An operation takes what its host knows with it. Where hosts may talk to each other unseen, it knows of all work of
  // other processes that has ended, too.
  void issued(Operation& op, bool hosts_talk);
  void begun(Operation& op);
  void ended(Operation& op);
  // The host of this process has seen the operation's end.
  void host_saw(uint32_t process, const Operation& op);
  // All these hosts know what each of them does.
  void hosts_met(const std::vector<uint32_t>& processes);
  // Everything has ended, and everybody knows.
  void all_is_known(const std::vector<uint32_t>& processes);
  // Every host waits: what has ended by now, hosts may know from each other.
  void everybody_waits();

  // Memory of another process: whoever frees what it has handed out must know that all who opened it have closed it.
  void opened(uint32_t process, uint64_t token);
  void closed(uint32_t process, uint64_t token);
  void freed(uint32_t process, int32_t rank, uint64_t token);

  // Something that the judge does with memory while nobody works.
  uint32_t begin_of_judge(uint32_t process, int32_t rank, uint32_t device);
  void end_of_judge(uint32_t process, uint32_t operation);

  // Bytes that an operation reads or writes; to be called before they are.
  void access(const Operation& op, simt::AccessKind kind, mem::Allocation* allocation, const std::byte* at,
              uint64_t bytes);

 private:
  class Both;

  void report_race(record::IncidentReason reason, std::optional<int> rank, std::string text);
  race::StreamEpoch next_epoch(uint32_t process, uint32_t device, uint64_t stream, uint32_t graph_node);

  std::unique_ptr<Both> both_;
  Report report_;
  bool keep_going_;
  race::Detector detector_;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>, race::StreamEpoch> streams_;
  std::map<uint32_t, race::ClockRef> ended_, ended_before_;  // by process; before: when everybody waited last
  std::map<uint32_t, uint32_t> numbers_;                     // of operations, by process
  // By token, and by the process that opened it: when it was closed.
  std::map<uint64_t, std::map<uint32_t, std::optional<race::StreamEpoch>>> openings_;
};

}  // namespace fb::machine
