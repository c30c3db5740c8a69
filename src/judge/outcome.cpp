#include "judge/outcome.h"

namespace fb::judge {
namespace {

// A verdict has all the fields of an outcome, and a JSON form.
record::Verdict as_verdict(const Outcome& outcome) {
  record::Verdict v;
  v.verdict = record::VerdictClass::pass;
  if (outcome.finding) {
    v.verdict = outcome.finding->verdict;
    v.summary = outcome.finding->summary;
    v.explanation = outcome.finding->explanation;
    v.place = outcome.finding->place;
  }
  v.timings = outcome.timings;
  v.calls = outcome.calls;
  v.values = outcome.values;
  v.instructions = outcome.instructions;
  v.replayable = outcome.replayable;
  v.notes = outcome.notes;
  v.wall_seconds = outcome.wall_seconds;
  return v;
}

}  // namespace

std::string to_json(const Outcome& outcome) { return record::to_json(as_verdict(outcome)); }

Result<Outcome> parse_outcome(std::string_view json) {
  auto v = record::parse_verdict(json);
  if (!v) return std::unexpected(std::move(v.error()));
  Outcome outcome;
  if (v->verdict != record::VerdictClass::pass)
    outcome.finding = Finding{v->verdict, std::move(v->summary), std::move(v->explanation), v->place};
  outcome.timings = std::move(v->timings);
  outcome.calls = v->calls;
  outcome.values = v->values;
  outcome.instructions = v->instructions;
  outcome.replayable = v->replayable;
  outcome.notes = std::move(v->notes);
  outcome.wall_seconds = std::move(v->wall_seconds);
  return outcome;
}

}  // namespace fb::judge
