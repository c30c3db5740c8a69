#pragma once

// The fields of all records, each listed once (common/base/json.h). A field is added to a struct and to its list, and
// nowhere else.

#include <string>
#include <string_view>
#include <type_traits>

#include "common/base/json.h"
#include "common/record/attempt.h"
#include "common/record/campaign.h"
#include "common/record/incident.h"
#include "common/record/run_options.h"
#include "common/record/run_record.h"
#include "common/record/verdict.h"

namespace fb::record {

// The version of the records' form, the field `schema` of every record. It is raised when a field changes its meaning;
// new fields do not raise it. Records without it are of versions before 1.
inline constexpr int kSchema = 1;

template <class T, class F>
void schema_field(F&& field) {
  int schema = std::is_const_v<T> ? kSchema : 0;
  field("schema", schema);
  if (schema > kSchema)
    throw std::runtime_error("schema " + std::to_string(schema) +
                             " is of a later version of fabricbench (this one reads up to " + std::to_string(kSchema) +
                             ")");
}

// A class of a later version is ours to fix, not the candidate's failure.
inline bool read_name(std::string_view name, VerdictClass& value) {
  value = verdict_class_from(name).value_or(VerdictClass::infra);
  return true;
}
template <class Enum>
bool assign(std::optional<Enum> from, Enum& value) {
  if (from) value = *from;
  return from.has_value();
}
inline bool read_name(std::string_view name, Ending& value) { return assign(ending_from(name), value); }
inline bool read_name(std::string_view name, IncidentKind& value) { return assign(incident_kind_from(name), value); }
inline bool read_name(std::string_view name, IncidentReason& value) {
  return assign(incident_reason_from(name), value);
}
inline bool read_name(std::string_view name, AnswerEnd& value) { return assign(answer_end_from(name), value); }

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

template <FieldsOf<DeviceCounters> T, class F>
void visit_fields(T& d, F&& field) {
  field("kernels", d.kernels);
  field("instructions", d.instructions);
  field("memory_bytes", d.memory_bytes);
  field("peer_bytes_sent", d.peer_bytes_sent);
  field("peer_bytes_received", d.peer_bytes_received);
  field("copies", d.copies);
  field("peak_memory", d.peak_memory);
}

template <FieldsOf<RankEnd> T, class F>
void visit_fields(T& e, F&& field) {
  field("rank", e.rank);
  field("exit_code", e.exit_code);
  field("signal", e.signal);
  field("ended", e.ended);
  field("seconds", e.seconds);
}

template <FieldsOf<BranchWays> T, class F>
void visit_fields(T& b, F&& field) {
  field("function", b.function);
  field("file", b.file);
  field("line", b.line);
  field("ptx_line", b.ptx_line);
  field("text", b.text);
  field("jumped", b.jumped);
  field("fell_through", b.fell_through);
}

// A short form, because there may be many.
inline void to_json(Json& json, const Choice& c) { json = Json::array({c.taken, c.options, c.interrupts}); }
inline void from_json(const Json& json, Choice& c) { c = {json.at(0), json.at(1), json.at(2)}; }

inline bool read_name(std::string_view name, AccessMode& value) { return assign(access_mode_from(name), value); }

template <FieldsOf<RunOptions> T, class F>
void visit_fields(T& o, F&& field) {
#define RUN_OPTION(form, type, name, initial, help) \
  if constexpr (std::string_view(#form) == "seed")  \
    field(#name, as_text(o.name));                  \
  else                                              \
    field(#name, o.name);
#include "common/record/run_options.def"
}

template <FieldsOf<SuppressionUse> T, class F>
void visit_fields(T& s, F&& field) {
  field("text", s.text);
  field("line", s.line);
  field("uses", s.uses);
}

template <FieldsOf<ProfileEntry> T, class F>
void visit_fields(T& e, F&& field) {
  field("file", e.file);
  field("line", e.line);
  field("cause", e.cause);
  field("nanoseconds", e.nanoseconds);
}

template <FieldsOf<KernelProfile> T, class F>
void visit_fields(T& k, F&& field) {
  field("kernel", k.kernel);
  field("launches", k.launches);
  field("warps", k.warps);
  field("longest_ns", k.longest_ns);
  field("device", k.device);
  field("block", k.block);
  field("warp", k.warp);
  field("critical", k.critical);
  field("all", k.all);
}

template <FieldsOf<Profile> T, class F>
void visit_fields(T& p, F&& field) {
  field("kernels", p.kernels);
}

template <FieldsOf<Checked> T, class F>
void visit_fields(T& c, F&& field) {
  field("launches", c.launches);
  field("kernels", c.kernels);
  field("library_operations", c.library_operations);
  field("copies", c.copies);
  field("accesses", c.accesses);
  field("card_accesses", c.card_accesses);
  field("ignored_errors", c.ignored_errors);
}

template <FieldsOf<RunRecord> T, class F>
void visit_fields(T& r, F&& field) {
  schema_field<T>(field);
  if constexpr (!std::is_const_v<T>) {  // before schema 1
    field("platform", r.options.platform);
    field("seed", as_text(r.options.seed));
    field("mode", r.options.mode);
    field("checked", r.options.check);
    field("world", r.options.ranks);
  }
  field("options", r.options);
  field("ending", r.ending);
  field("incidents", r.incidents);
  field("counts", r.checked);
  field("virtual_seconds", r.virtual_seconds);
  field("instructions", r.instructions);
  field("event_log_hash", r.event_log_hash);
  field("replayable", r.replayable);
  field("not_replayable_because", r.not_replayable_because);
  field("races_thinned_out", r.races_thinned_out);
  field("unsupported_calls", r.unsupported_calls);
  field("failed_calls", r.failed_calls);
  field("old_reads", r.old_reads);
  field("further_findings", r.further_findings);
  field("suppressions", r.suppressions);
  field("calls_in_run", r.calls_in_run);
  field("late_requests", r.late_requests);
  field("devices", r.devices);
  field("branches", r.branches);
  field("profile", r.profile);
  field("choices", r.choices);
  field("ranks", r.ranks);
  field("wall_seconds", r.wall_seconds);
  field("processor_seconds", r.processor_seconds);
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
  field("identity", v.identity);
  field("sessions", v.sessions);
  field("schedules", v.schedules);
  field("profile", v.profile);
  visit_fields(static_cast<SameConst<Evidence, T>&>(v), field);
}

template <FieldsOf<Usage> T, class F>
void visit_fields(T& u, F&& field) {
  field("input_tokens", u.input_tokens);
  field("cached_tokens", u.cached_tokens);
  field("cache_write_tokens", u.cache_write_tokens);
  field("output_tokens", u.output_tokens);
  field("reasoning_tokens", u.reasoning_tokens);
}

template <FieldsOf<Call> T, class F>
void visit_fields(T& c, F&& field) {
  field("end", c.end, kRequired);
  field("stop_reason", c.stop_reason);
  field("error", c.error);
  field("model", c.model);
  field("usage", c.usage);
  field("usd", c.usd);
  field("seconds", c.seconds);
  field("tries", c.tries);
  field("lost", c.lost);
}

template <FieldsOf<Attempt> T, class F>
void visit_fields(T& a, F&& field) {
  schema_field<T>(field);
  field("model", a.model, kRequired);
  field("problem", a.problem, kRequired);
  field("sample", a.sample, kRequired);
  field("round", a.round, kRequired);
  field("for_speed", a.for_speed);
  if constexpr (std::is_const_v<T>) field("outcome", std::string(outcome(a)));  // follows from the others
  field("call", a.call, kRequired);
  field("verdict", a.verdict);
  field("cached", a.cached);
}

// Throws: labels are names of folders.
void require_label(const std::string& label);

template <FieldsOf<ModelSpec> T, class F>
void visit_fields(T& m, F&& field) {
  field("label", m.label, kRequired);
  if constexpr (!std::is_const_v<T>) require_label(m.label);
  field("provider", m.provider);
  field("model", m.model);
  field("base_url", m.base_url);
  field("effort", m.effort);
  field("temperature", m.temperature);
  field("max_output_tokens", m.max_output_tokens);
}

template <FieldsOf<CampaignPlan> T, class F>
void visit_fields(T& p, F&& field) {
  schema_field<T>(field);
  field("name", p.name);
  field("created", p.created);
  field("models", p.models, kRequired);
  field("problems", p.problems, kRequired);
  field("pack", p.pack);
  field("pack_version", p.pack_version);
  field("samples", p.samples);
  field("rounds", p.rounds);
  field("speed_rounds", p.speed_rounds);
  field("prompt", p.prompt);
  field("thoroughness", p.thoroughness);
  field("backend", p.backend);
  field("platform", p.platform);
  field("seed", as_text(p.seed));
  field("max_usd", p.max_usd);
  field("calls", p.calls);
  field("calls_per_minute", p.calls_per_minute);
  field("use_cache", p.use_cache);
  field("use_sandbox", p.use_sandbox);
  field("version", p.version);
}

}  // namespace fb::record
