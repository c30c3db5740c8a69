#pragma once

// The record of one run: plain structs and their JSON. The machine fills it, the launcher adds exit codes and wall
// times.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/incident.h"
#include "common/record/profile.h"
#include "common/record/run_options.h"

namespace fb::record {

struct DeviceCounters {
  uint64_t kernels = 0, instructions = 0;
  uint64_t memory_bytes = 0;                              // of its own memory, read or written
  uint64_t peer_bytes_sent = 0, peer_bytes_received = 0;  // over links
  uint64_t copies = 0;
  uint64_t peak_memory = 0;  // bytes allocated at most
  friend bool operator==(const DeviceCounters&, const DeviceCounters&) = default;
};

// How a rank's process ended.
struct RankEnd {
  int rank = 0;
  int exit_code = 0;   // where it exited
  int signal = 0;      // where a signal ended it, else 0
  bool ended = false;  // by the launcher, after another failure
  double seconds = 0;  // of wall time after the start
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

// One scheduling decision of a run that follows a list of choices; alternatives are numbered from 0.
struct Choice {
  uint32_t taken = 0;
  uint32_t options = 1;
  bool interrupts = false;  // any alternative but the first preempts a warp that could continue
  friend bool operator==(const Choice&, const Choice&) = default;
};

// Which ways a conditional branch of the program went, or whether a kernel was launched: over all of its launches, on
// all devices.
struct BranchWays {
  std::string function = {}, file = {};
  uint32_t line = 0, ptx_line = 0;
  std::string text = {};                      // the instruction; empty: the kernel itself
  bool jumped = false, fell_through = false;  // a kernel has both if it was launched
  friend bool operator==(const BranchWays&, const BranchWays&) = default;
};

// Adds what another run of the same program saw.
void merge(std::vector<BranchWays>& all, const std::vector<BranchWays>& more);

// A line of the file of suppressions, and how many findings it kept from being reported.
struct SuppressionUse {
  std::string text = {};
  uint32_t line = 0;
  uint64_t uses = 0;
  friend bool operator==(const SuppressionUse&, const SuppressionUse&) = default;
};

// What a run did and looked at: that nothing was found says something about this, and about nothing else.
struct Checked {
  uint64_t launches = 0;            // of kernels: by hosts, graphs and kernels
  uint64_t kernels = 0;             // of these: those that ran to their end
  uint64_t library_operations = 0;  // collectives and operations of cuBLAS that came to their end
  uint64_t copies = 0;              // copies and fills that came to their end
  // Loads, stores and atomics of threads, and ranges of bytes that anything else reads or writes, in which races were
  // looked for; of these, those of network cards.
  uint64_t accesses = 0, card_accesses = 0;
  // Errors of the program that are no findings: RunOptions::ignore_errors.
  uint64_t ignored_errors = 0;
  // Something of that in which races are looked for besides copies.
  bool any() const { return kernels != 0 || library_operations != 0 || card_accesses != 0; }
  Checked& operator+=(const Checked& more);
  friend bool operator==(const Checked&, const Checked&) = default;
};

struct RunRecord {
  RunOptions options = {};

  Ending ending = Ending::finished;
  std::vector<Incident> incidents = {};
  Checked checked = {};
  double virtual_seconds = 0;
  uint64_t instructions = 0;  // of warps
  // Hash of all events in order; the same seed gives the same hash if the run is replayable.
  std::string event_log_hash = {};
  bool replayable = true;
  std::string not_replayable_because = {};
  bool races_thinned_out =
      false;  // so many accesses that races were looked for in a part of the memory, from some point on
  std::map<std::string, uint64_t> unsupported_calls = {};
  // Calls whose error the program got, with it; by how many processes. It may have handled or ignored it.
  std::map<std::string, uint64_t> failed_calls = {};
  // Where races were looked for: loads that returned what was there before a store, because nothing orders the two, and
  // that did not come again. In the last step, where a judge drove the run.
  std::vector<std::string> old_reads = {};
  // Findings that are not among the incidents: at lines that were reported before, of the same cause, or beyond
  // RunOptions::max_reports.
  uint64_t further_findings = 0;
  std::vector<SuppressionUse> suppressions = {};
  // Where a judge drove the run: the ranks' requests inside judged steps, by name (common/wire/messages.def), and the
  // number of requests between steps, when ranks must be idle.
  std::map<std::string, uint64_t> calls_in_run = {};
  uint64_t late_requests = 0;
  std::vector<DeviceCounters> devices = {};
  std::vector<BranchWays> branches = {};  // where they were counted
  Profile profile = {};                   // of a run with --profile
  std::vector<Choice> choices = {};       // all decisions of a run that was given a list of choices

  std::vector<RankEnd> ranks = {};
  std::map<std::string, double> wall_seconds = {};  // phase → seconds
  // Of a judged run, as far as the machine saw it: "machine start" and "ranks start" until the first step, "machine"
  // and "ranks" from then on; and "launch", of the thread that started them all.
  std::map<std::string, double> processor_seconds = {};
  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

std::string to_json(const RunRecord& record);
// Fields that are missing keep their defaults, so that older records can be read.
Result<RunRecord> parse_run_record(std::string_view json);

}  // namespace fb::record
