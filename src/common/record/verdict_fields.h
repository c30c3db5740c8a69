#pragma once

// The fields of verdict.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its list,
// and nowhere else.

#include <string_view>
#include <type_traits>

#include "common/record/json_schema.h"
#include "common/record/profile_fields.h"
#include "common/record/verdict.h"

namespace fb::record {

// A class of a later version is ours to fix, not the candidate's failure.
inline bool read_name(std::string_view name, VerdictClass& value) {
  value = verdict_class_from(name).value_or(VerdictClass::infra);
  return true;
}

template <FieldsOf<FailureLocation> T, class F>
void visit_fields(T& l, F&& field) {
  field("size", l.size);
  field("world", l.world);
  field("rank", l.rank);
  field("call", l.call);
  field("schedule", as_text(l.schedule));
}

template <FieldsOf<LineRange> T, class F>
void visit_fields(T& lines, F&& field) {
  field("first", lines.first);
  field("last", lines.last);
}

template <FieldsOf<Range> T, class F>
void visit_fields(T& range, F&& field) {
  field("low", range.low);
  field("high", range.high);
}

template <FieldsOf<Moved> T, class F>
void visit_fields(T& m, F&& field) {
  field("peer_out", m.peer_out);
  field("peer_in", m.peer_in);
  field("to_host", m.to_host);
  field("from_host", m.from_host);
  field("memory", m.memory);
  field("network_out", m.network_out);
  field("network_in", m.network_in);
}

// A short form, because it is read by people: [value, seconds].
inline void to_json(Json& json, const SamplePoint& p) { json = Json::array({p.value, p.seconds}); }
inline void from_json(const Json& json, SamplePoint& p) { p = {.value = json.at(0), .seconds = json.at(1)}; }

template <FieldsOf<Timing> T, class F>
void visit_fields(T& t, F&& field) {
  field("size", t.size);
  field("world", t.world);
  field("begin_seconds", t.begin_seconds);
  field("seconds", t.seconds);
  field("range", t.range);
  field("reference_seconds", t.reference_seconds);
  field("baseline_seconds", t.baseline_seconds);
  field("speed_range", t.speed_range);
  field("limit_seconds", t.limit_seconds);
  field("bound", t.bound);
  if constexpr (!std::is_const_v<T>) field("answers_to", t.sensitivity);  // its name before schema 1
  field("sensitivity", t.sensitivity);
  field("calls", t.calls);
  field("moved", t.moved);
  field("scale", t.scale);
  field("scale_value", t.scale_value);
  field("samples", t.samples);
  field("line_range", t.line_range);
  field("refusal", t.refusal);
  field("link_use", t.link_use);
  field("memory_use", t.memory_use);
}

template <FieldsOf<Ruling> T, class F>
void visit_fields(T& r, F&& field) {
  field("class", r.verdict);
  field("summary", r.summary);
  field("explanation", r.explanation);
  if constexpr (!std::is_const_v<T>) field("place", r.location);  // its name before schema 1
  field("location", r.location);
}

template <FieldsOf<Evidence> T, class F>
void visit_fields(T& e, F&& field) {
  field("notes", e.notes);
  field("replayable", e.replayable);
  field("calls", e.calls);
  field("values", e.values);
  field("instructions", e.instructions);
  field("timings", e.timings);
  field("wall_seconds", e.wall_seconds);
  field("processor_seconds", e.processor_seconds);
}

template <class Base, class T>
using SameConst = std::conditional_t<std::is_const_v<T>, const Base, Base>;

template <FieldsOf<Peaks> T, class F>
void visit_fields(T& p, F&& field) {
  field("link_bytes_per_second", p.link_bytes_per_second);
  field("memory_bytes_per_second", p.memory_bytes_per_second);
  field("tensor_flops_per_second", p.tensor_flops_per_second);
  field("network_bytes_per_second", p.network_bytes_per_second);
}

template <FieldsOf<Verdict> T, class F>
void visit_fields(T& v, F&& field) {
  schema_field<T>(field);
  field("problem", v.problem);
  visit_fields(static_cast<SameConst<Ruling, T>&>(v), field);
  field("seed", as_text(v.seed));
  field("thoroughness", v.thoroughness);
  field("speed", v.speed);
  field("speed_range", v.speed_range);
  field("sol", v.sol);
  field("peaks", v.peaks);
  field("problem_hash", v.problem_hash);
  field("pack", v.pack);
  field("pack_version", v.pack_version);
  field("candidate_hash", v.candidate_hash);
  field("judged_lines", v.judged_lines);
  field("backend", v.backend);
  field("platform", v.platform);
  field("sandbox", v.sandbox);
  field("version", v.version);
  field("device_compiler", v.device_compiler);
  field("identity", v.identity);
  field("sessions", v.sessions);
  field("schedules", v.schedules);
  field("profile", v.profile);
  visit_fields(static_cast<SameConst<Evidence, T>&>(v), field);
}

}  // namespace fb::record
