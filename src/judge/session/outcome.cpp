#include "judge/session/outcome.h"

#include "common/record/run_record_fields.h"
#include "common/record/verdict_fields.h"

namespace fb::judge {

template <FieldsOf<SessionOutcome> T, class F>
void visit_fields(T& outcome, F&& field) {
  field("finding", outcome.finding);
  field("in_doubt", outcome.in_doubt);
  field("branches", outcome.branches);
  field("profile", outcome.profile);
  visit_fields(static_cast<record::SameConst<record::Evidence, T>&>(outcome), field);
}

std::string to_json(const SessionOutcome& outcome) { return dump(to_json_value(outcome), -1); }

Result<SessionOutcome> parse_outcome(std::string_view json) {
  return parse_fields<SessionOutcome>(json, "the outcome of a session");
}

bool is_failure_of_ours(const Result<SessionOutcome>& outcome) {
  if (!outcome) return true;
  return outcome->finding && (outcome->in_doubt || outcome->finding->verdict == record::VerdictClass::infra);
}

}  // namespace fb::judge
