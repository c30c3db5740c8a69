#pragma once

// The judge's verdict on one candidate. Plain structs and their JSON; `fabricbench check --json` prints it, campaigns
// keep it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/profile.h"
#include "common/record/verdict_class.h"

namespace fb::record {

// Where the first failure was seen; what does not apply is empty or -1.
struct FailureLocation {
  std::string size = {};
  int world = -1, rank = -1, call = -1;
  uint64_t schedule = 0;  // 0: by virtual time
  friend bool operator==(const FailureLocation&, const FailureLocation&) = default;
};

// Lines of a text, both inclusive, counted from 1. Both 0: none.
struct LineRange {
  uint32_t first = 0, last = 0;
  bool known() const { return first > 0; }
  friend bool operator==(const LineRange&, const LineRange&) = default;
};

// Where a figure would be if the platform's constants were as far off as it says they may be. Both 0: not known.
struct Range {
  double low = 0, high = 0;
  bool known() const { return high > 0; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Bytes that one call moved, each the most of any device.
struct Moved {
  uint64_t peer_out = 0, peer_in = 0;  // to and from other devices
  uint64_t to_host = 0, from_host = 0;
  uint64_t network_out = 0, network_in = 0;  // payload of messages, of the busiest card
  uint64_t memory = 0;                       // reads and writes of device memory, by any agent
  friend bool operator==(const Moved&, const Moved&) = default;
};

// The time of a smaller size.
struct SamplePoint {
  int64_t value = 0;  // of the parameter in which sizes differ
  double seconds = 0;
  // Of the judge that has measured it; not recorded.
  Moved moved = {};
  std::map<std::string, double> sensitivity = {};
  friend bool operator==(const SamplePoint&, const SamplePoint&) = default;
};

// One size class at one world size, in modelled time.
struct Timing {
  std::string size = {};
  int world = 0;
  double begin_seconds = 0;  // of the session's virtual time: where a timeline shows it
  double seconds = 0;
  double reference_seconds = 0;  // of the expert's solution; 0: there is none, or it was not measured
  double baseline_seconds = 0;   // of the baseline; 0: likewise
  double limit_seconds = 0;      // no machine of this kind can be faster
  Range range = {};              // of seconds
  Range speed_range = {};        // of speed(); errors that both share are not in it
  // By group of constants ("latency", "bandwidth", …): the elasticity of the time, in per cent that it grows when the
  // group is slower by one per cent. Empty: was not measured.
  std::map<std::string, double> sensitivity = {};
  uint32_t calls = 1;  // of its step: 2 if another call followed back to back; `moved` is then the mean of both
  Moved moved = {};
  double link_use = 0, memory_use = 0;  // of the busiest link and memory: shares of what they could have moved
  // Of a size that is too large to run: `seconds` is on the line through the times of smaller ones
  // (docs/reference/time.md).
  std::string scale = {};                 // the parameter in which they differ; empty: the size itself was run
  int64_t scale_value = 0;                // of the size
  std::vector<SamplePoint> samples = {};  // ascending
  Range line_range = {};                  // of seconds, by how far the samples are from the line
  // Why nothing was extrapolated; empty: it was. All figures, also of reference and limit, are then those of the
  // largest sample.
  std::string refusal = {};
  std::string bound = {};  // what bounds it, as a sentence without its end; empty: not known
  // What the candidate is compared with; 0: nothing.
  double yardstick_seconds() const { return baseline_seconds > 0 ? baseline_seconds : reference_seconds; }
  // 0: not known.
  double speed() const { return seconds > 0 ? yardstick_seconds() / seconds : 0; }

  friend bool operator==(const Timing&, const Timing&) = default;
};

// The class and its reason. Of a session: the first failure.
struct Ruling {
  VerdictClass verdict = VerdictClass::infra;
  std::string summary = {};      // one line
  std::string explanation = {};  // for people and models: what, where, what to look at
  FailureLocation location = {};
  friend bool operator==(const Ruling&, const Ruling&) = default;
};

// What was run and measured, of one session or of all.
struct Evidence {
  std::vector<std::string> notes = {};
  bool replayable = true;          // as far as the machine can tell
  uint64_t calls = 0, values = 0;  // runs and output elements compared
  uint64_t instructions = 0;       // of warps
  std::vector<Timing> timings = {};
  std::map<std::string, double> wall_seconds = {};
  // User and system time of all processes. Of a session: "machine", "ranks", "oracle", "compare", "ranks start"
  // (until their first step), "start" (whatever else it takes to start and to end processes) and "rest". Of a verdict:
  // "all", "build", "reference", "zygote" (forks the ranks of all sessions), and those of its sessions by their kind:
  // "checked start", "timed start" (sessions with timed calls), "sensitivity start".
  std::map<std::string, double> processor_seconds = {};
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

// What the platform can do at most, of one GPU: the roofs that `limit_seconds` is made of. 0: not known.
struct Peaks {
  double link_bytes_per_second = 0, memory_bytes_per_second = 0;
  double network_bytes_per_second = 0;  // of a card's port
  double tensor_flops_per_second = 0;   // products of bf16 or f16, on tensor cores

  friend bool operator==(const Peaks&, const Peaks&) = default;
};

struct Verdict : Ruling, Evidence {
  std::string problem = {}, problem_hash = {};
  std::string pack = {}, pack_version = {};
  std::string candidate_hash = {};
  LineRange judged_lines = {};  // of the answer: from the first to the last line that was put into the template
  std::string backend = "virtual", platform = {};
  std::string thoroughness = "full";      // or quick
  std::string device_compiler = "clang";  // or nvcc
  uint64_t seed = 0;                      // replays the judgement
  std::string sandbox = "bubblewrap";     // or "none": the judgement can't be trusted
  std::string version = {};               // of fabricbench
  std::string identity = {};              // judge::identity(): verdicts of one identity are comparable

  uint32_t sessions = 0, schedules = 0;  // how many were run

  std::optional<double> speed = {};  // geometric mean of baseline (or reference) / candidate; only of a pass
  Range speed_range = {};            // of the speed
  std::optional<double> sol = {};    // geometric mean of limit / candidate
  Peaks peaks = {};                  // of the platform, if times were measured
  Profile profile = {};              // of the timed calls, if it was asked for

  // Its speed is relative to a baseline, not to an expert's solution.
  bool has_baseline() const { return !timings.empty() && timings.front().baseline_seconds > 0; }

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

std::string to_json(const Verdict& verdict);
Result<Verdict> parse_verdict(std::string_view json);

}  // namespace fb::record
