#pragma once

// What a run leaves behind: the hash of its events, counters, and the timeline.

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/record/run_record.h"
#include "virtual_node/fabric/fabric.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/timeline.h"

namespace fb::machine {

class RunLog {
 public:
  // `events`: a file for every event that the hash is made of; empty: none. Throws std::system_error if it can't be
  // written.
  RunLog(uint32_t devices, fabric::Fabric& fabric, const Engine& engine, const std::string& events, bool trace);

  void add(const char* what, std::initializer_list<uint64_t> words);
  void add_call(HostThread& thread, wire::Status status);
  void add_finished(const Operation& op);
  // Threads are added in no particular order; their hashes are summed.
  void add_thread_that_left(const HostThread& thread) { calls_of_gone_ += hash_of_calls(thread); }
  uint64_t hash(const std::vector<std::shared_ptr<HostThread>>& threads) const;

  // A request of the program while it is being judged.
  void count_in_run(wire::Kind kind);
  void count_unsupported(const std::string& call);
  void count_failed(const std::string& call);
  void count_kernel(uint32_t device) { ++devices_[device].kernels; }
  // For RunRecord::checked.
  void count_launch() { ++checked_.launches; }
  void count_finished_kernel() { ++checked_.kernels; }
  void count_ended(WorkKind kind) {
    if (kind == WorkKind::library) ++checked_.library_operations;
    if (kind == WorkKind::copy) ++checked_.copies;
  }
  void count_copy(uint32_t device) { ++devices_[device].copies; }
  void count_instructions(uint32_t device, uint64_t n) { devices_[device].instructions += n; }
  void count_fault() { ++faults_; }
  uint64_t faults() const { return faults_; }
  void mark_not_replayable(const std::string& why);

  void fill(record::RunRecord& record) const;
  // Null unless a timeline was asked for.
  Timeline* timeline() { return timeline_ ? &*timeline_ : nullptr; }
  // At the end of the run. Throws std::system_error if the file of events is not complete.
  void finish_events();
  // The timeline at the end of the run; null unless it was asked for. To be called once; Timeline::finish explains
  // `why`.
  const record::Trace* finish_trace(const std::vector<std::unique_ptr<Process>>& processes, std::string_view why);

 private:
  void add_line(const std::string& line);
  static uint64_t hash_of_calls(const HostThread& thread);

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const Engine& engine_;
  std::string events_file_;
  int events_lost_ = 0;  // why writing them first failed
  std::unique_ptr<std::FILE, CloseFile> events_;
  uint64_t hash_ = 0x9E3779B97F4A7C15u;
  uint64_t calls_of_gone_ = 0;
  std::string not_replayable_;
  std::map<std::string, uint64_t> calls_in_run_, unsupported_, failed_;
  std::vector<record::DeviceCounters> devices_;
  record::Checked checked_;
  uint64_t faults_ = 0;  // of kernels
  std::optional<Timeline> timeline_;
};

}  // namespace fb::machine
