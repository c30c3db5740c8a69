#pragma once

// How runs end and what is reported on the way. Kinds, reasons and their meaning are rows of incidents.def.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/verdict_class.h"

namespace fb::record {

enum class Ending : uint8_t {
#define ENDING(name, verdict) name,
#include "common/record/incidents.def"
};
std::string_view to_string(Ending ending);
std::optional<Ending> ending_from(std::string_view name);
// The class of a verdict on a run that ended so, where no incident says more.
VerdictClass verdict_of(Ending ending);

enum class IncidentKind : uint8_t {
#define INCIDENT(kind, ending) kind,
#include "common/record/incidents.def"
};
std::string_view to_string(IncidentKind kind);
std::optional<IncidentKind> incident_kind_from(std::string_view name);
Ending ending_of(IncidentKind kind);

enum class IncidentReason : uint8_t {
  unspecified,  // in records of versions that had kinds only
#define REASON(name, kind, effect, verdict) name,
#include "common/record/incidents.def"
};
std::string_view to_string(IncidentReason reason);
std::optional<IncidentReason> incident_reason_from(std::string_view name);

enum class IncidentEffect : uint8_t { none, sets_ending, ends_run };

// A line of the program's sources.
struct SourceFrame {
  std::string file = {};
  uint32_t line = 0;
  std::string function = {};  // demangled
  friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

// An access that a finding is about, or a flag between two.
struct IncidentSite {
  std::string role = {};                 // "first", "then", "read"; of a flag: "flag set", "flag read"
  std::string agent = {};                // "rank 0 (device 0), all_reduce, block 0, thread 33"
  std::string kernel = {};               // demangled; empty: not of a kernel
  std::vector<SourceFrame> frames = {};  // the innermost first; the others are calls that were inlined
  friend bool operator==(const IncidentSite&, const IncidentSite&) = default;
};

struct Incident {
  IncidentKind kind = IncidentKind::note;
  IncidentReason reason = IncidentReason::unspecified;
  std::optional<int> rank = {};
  std::string text = {};  // for people; nothing is read out of it
  bool fatal = false;     // it ended the run
  // Of findings: the class as files of suppressions name it, and what it is about.
  std::string finding = {};
  std::vector<IncidentSite> sites = {};
  friend bool operator==(const Incident&, const Incident&) = default;
};
// With kind and fatality as the table has them. A rank below 0 is none.
Incident make_incident(IncidentReason reason, std::optional<int> rank, std::string text);

// The class that the incident's reason has, or that of its kind's ending. `pass`: nothing against the candidate.
VerdictClass verdict_of(const Incident& incident);
// An error of the program that the run survives; RunOptions::ignore_errors is about these.
bool is_survived_error(const Incident& incident);
// The ending of a run in which this happened; none: it has no effect on the ending.
std::optional<Ending> ending_of(const Incident& incident);

// One line, as the machine sends it to the launcher.
std::string to_json_line(const Incident& incident);
Result<Incident> parse_incident(std::string_view line);

}  // namespace fb::record
