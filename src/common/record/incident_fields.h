#pragma once

// The fields of incident.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its
// list, and nowhere else.

#include "common/record/incident.h"
#include "common/record/json_schema.h"

namespace fb::record {

inline bool read_name(std::string_view name, Ending& value) { return assign(ending_from(name), value); }
inline bool read_name(std::string_view name, IncidentKind& value) { return assign(incident_kind_from(name), value); }
inline bool read_name(std::string_view name, IncidentReason& value) {
  return assign(incident_reason_from(name), value);
}

template <FieldsOf<SourceFrame> T, class F>
void visit_fields(T& f, F&& field) {
  field("file", f.file);
  field("line", f.line);
  field("function", f.function);
}

template <FieldsOf<IncidentSite> T, class F>
void visit_fields(T& s, F&& field) {
  field("role", s.role);
  field("agent", s.agent);
  field("kernel", s.kernel);
  field("frames", s.frames);
}

template <FieldsOf<Incident> T, class F>
void visit_fields(T& i, F&& field) {
  field("kind", i.kind);
  field("reason", i.reason);
  field("rank", i.rank);
  field("text", i.text);
  field("fatal", i.fatal);
  field("finding", i.finding);
  field("sites", i.sites);
}

}  // namespace fb::record
