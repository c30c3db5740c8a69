#pragma once

// The result of one session. It crosses from the process that ran the session to the judge as JSON.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/run_record.h"
#include "common/record/verdict.h"

namespace fb::judge {

using record::Ruling;

struct SessionOutcome : record::Evidence {
  std::optional<Ruling> finding = {};             // the first failure
  std::vector<record::BranchWays> branches = {};  // where they were counted
  record::Profile profile = {};                   // of a session that was profiled
  // A process of the run was ended by a signal that may have come from outside: the finding counts only if it comes
  // again.
  bool in_doubt = false;
};

// Whether the session says nothing about the candidate, so that it is run again: it left no outcome, failed because of
// us, or is in doubt.
bool is_failure_of_ours(const Result<SessionOutcome>& outcome);

std::string to_json(const SessionOutcome& outcome);
Result<SessionOutcome> parse_outcome(std::string_view json);

}  // namespace fb::judge
