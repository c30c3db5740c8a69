#pragma once

// The fields of run_record.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its
// list, and nowhere else.

#include <type_traits>

#include "common/record/incident_fields.h"
#include "common/record/profile_fields.h"
#include "common/record/run_options_fields.h"
#include "common/record/run_record.h"

namespace fb::record {

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

template <FieldsOf<SuppressionUse> T, class F>
void visit_fields(T& s, F&& field) {
  field("text", s.text);
  field("line", s.line);
  field("uses", s.uses);
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

}  // namespace fb::record
