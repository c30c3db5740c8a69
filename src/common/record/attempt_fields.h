#pragma once

// The fields of attempt.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its list,
// and nowhere else.

#include <string>
#include <string_view>
#include <type_traits>

#include "common/record/attempt.h"
#include "common/record/verdict_fields.h"

namespace fb::record {

inline bool read_name(std::string_view name, AnswerEnd& value) { return assign(answer_end_from(name), value); }

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

}  // namespace fb::record
