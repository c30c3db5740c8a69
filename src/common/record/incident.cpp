#include "common/record/incident.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/check.h"
#include "common/record/incident_fields.h"

namespace fb::record {
namespace {

struct EndingRow {
  std::string_view name;
  VerdictClass verdict;
};
constexpr std::array kEndings = {
#define ENDING(name, verdict) EndingRow{#name, VerdictClass::verdict},
#include "common/record/incidents.def"
};

struct KindRow {
  std::string_view name;
  Ending ending;
};
constexpr std::array kKinds = {
#define INCIDENT(kind, ending) KindRow{#kind, Ending::ending},
#include "common/record/incidents.def"
};

struct ReasonRow {
  std::string_view name;
  IncidentKind kind;
  IncidentEffect effect;
  VerdictClass verdict;
};
constexpr std::array kReasons = {
    ReasonRow{"unspecified", IncidentKind::note, IncidentEffect::none, VerdictClass::pass},
#define REASON(name, kind, effect, verdict) \
  ReasonRow{#name, IncidentKind::kind, IncidentEffect::effect, VerdictClass::verdict},
#include "common/record/incidents.def"
};

// Every kind but note ends runs in a way of its own, which is against the candidate or ours, and has a reason.
constexpr bool kinds_are_mapped() {
  for (size_t k = 0; k < kKinds.size(); ++k) {
    const auto kind = static_cast<IncidentKind>(k);
    const bool ends = kEndings[static_cast<size_t>(kKinds[k].ending)].verdict != VerdictClass::pass;
    if (ends != (kind != IncidentKind::note)) return false;
    if (std::ranges::none_of(kReasons.begin() + 1, kReasons.end(), [&](const auto& r) { return r.kind == kind; }))
      return false;
  }
  return true;
}

static_assert(kinds_are_mapped());

template <class Enum, class Rows>
std::optional<Enum> find_name(const Rows& rows, std::string_view name) {
  const auto found = std::ranges::find_if(rows, [&](const auto& row) { return row.name == name; });
  if (found == rows.end()) return std::nullopt;
  return static_cast<Enum>(found - rows.begin());
}

const ReasonRow& row_of(IncidentReason reason) { return kReasons[static_cast<size_t>(reason)]; }

}  // namespace

std::string_view to_string(Ending ending) { return kEndings[static_cast<size_t>(ending)].name; }
std::optional<Ending> ending_from(std::string_view name) { return find_name<Ending>(kEndings, name); }
VerdictClass verdict_of(Ending ending) { return kEndings[static_cast<size_t>(ending)].verdict; }

std::string_view to_string(IncidentKind kind) { return kKinds[static_cast<size_t>(kind)].name; }
std::optional<IncidentKind> incident_kind_from(std::string_view name) { return find_name<IncidentKind>(kKinds, name); }
Ending ending_of(IncidentKind kind) { return kKinds[static_cast<size_t>(kind)].ending; }

std::string_view to_string(IncidentReason reason) { return row_of(reason).name; }
std::optional<IncidentReason> incident_reason_from(std::string_view name) {
  return find_name<IncidentReason>(kReasons, name);
}

Incident make_incident(IncidentReason reason, std::optional<int> rank, std::string text) {
  FB_CHECK(reason != IncidentReason::unspecified);
  const ReasonRow& row = row_of(reason);
  if (rank && *rank < 0) rank.reset();
  return {.kind = row.kind,
          .reason = reason,
          .rank = rank,
          .text = std::move(text),
          .fatal = row.effect == IncidentEffect::ends_run,
          .finding = {},
          .sites = {}};
}

VerdictClass verdict_of(const Incident& incident) {
  return incident.reason == IncidentReason::unspecified ? verdict_of(ending_of(incident.kind))
                                                        : row_of(incident.reason).verdict;
}

bool is_survived_error(const Incident& incident) {
  return !incident.fatal && row_of(incident.reason).effect == IncidentEffect::sets_ending;
}

std::optional<Ending> ending_of(const Incident& incident) {
  if (!incident.fatal && row_of(incident.reason).effect == IncidentEffect::none) return std::nullopt;
  return ending_of(incident.kind);
}

std::string to_json_line(const Incident& incident) { return dump(to_json_value(incident), -1); }

Result<Incident> parse_incident(std::string_view line) { return parse_fields<Incident>(line, "an incident"); }

}  // namespace fb::record
