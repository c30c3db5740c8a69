#pragma once

// What is kept of one run: plain structs and their JSON. The machine fills it, the launcher adds what it alone knows.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::record {

enum class Ending : uint8_t {
  finished,
  failed,       // a rank ended with an exit code other than 0
  fault,        // a kernel did what it must not
  race,         // accesses that nothing orders (a run that is checked)
  deadlock,     // everything waits and nothing is in flight
  budget,       // more instructions than allowed
  rank_lost,    // a rank died, or left without saying so
  bad_message,  // a rank sent what is no message
  out_of_memory,
  timeout,       // of wall time
  interrupted,   // by the user
  machine_lost,  // our own failure
};
std::string_view to_string(Ending ending);
std::optional<Ending> ending_from(std::string_view name);

// Something that happened and that people should read.
struct Incident {
  std::string kind = {};  // an ending's name, or "note"
  std::optional<int> rank = {};
  std::string text = {};
  bool fatal = false;
  friend bool operator==(const Incident&, const Incident&) = default;
};
// One line, as the machine sends it to the launcher.
std::string to_json_line(const Incident& incident);
Result<Incident> parse_incident(std::string_view line);

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
  bool ended = false;  // by the launcher, after something else had gone wrong
  double seconds = 0;  // of wall time after the start
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

// Who goes on, in a run that follows a list of choices: one of several ways, numbered from 0.
struct Choice {
  uint32_t taken = 0;
  uint32_t options = 1;
  bool interrupts = false;  // any other way than the first stops somebody who could go on
  friend bool operator==(const Choice&, const Choice&) = default;
};

struct RunRecord {
  std::string platform = {};
  uint64_t seed = 0;
  std::string mode = "hardware";
  bool checked = false;  // for races
  int world = 1;

  Ending ending = Ending::finished;
  std::vector<Incident> incidents = {};
  double virtual_seconds = 0;
  uint64_t instructions = 0;  // of warps
  // Of everything that happened, in order; the same seed gives the same hash if the run is replayable.
  std::string event_log_hash = {};
  bool replayable = true;
  std::string not_replayable_because = {};
  std::map<std::string, uint64_t> unsupported_calls = {};
  // Where a judge drove the run: what ranks asked for while they were judged, by the request's name
  // (wire/messages.def), and how many requests came between steps, when nobody was to work.
  std::map<std::string, uint64_t> calls_in_run = {};
  uint64_t late_requests = 0;
  std::vector<DeviceCounters> devices = {};
  std::vector<Choice> choices = {};  // all that there were, where some were given

  std::vector<RankEnd> ranks = {};
  std::map<std::string, double> wall_seconds = {};  // phase → seconds
  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

std::string to_json(const RunRecord& record);
// Fields that are missing keep their defaults, so that older records can be read.
Result<RunRecord> parse_run_record(std::string_view json);

}  // namespace fb::record
