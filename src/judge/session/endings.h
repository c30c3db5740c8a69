#pragma once

// From how a run ended to what the verdict says of it.

#include <optional>
#include <string>

#include "judge/session/outcome.h"
#include "launcher/launch.h"

namespace fb::judge {

// Nothing where the run ended as it should. `location` and `step` ("run") are those of the judge.
std::optional<Ruling> finding_of(const launcher::LaunchResult& result, const record::FailureLocation& location,
                                 const std::string& step);

// Whether a rank was ended by a signal that another process may have sent: a user, a cluster's scheduler, the kernel
// when memory is short. A candidate can send it to itself too.
bool may_have_been_killed(const launcher::LaunchResult& result);

// What the candidate's host code was told and may have ignored, for the beginning of an explanation; empty: nothing.
std::string failed_calls(const record::RunRecord& record);
// Loads of the last step that returned old bytes, for the explanation of wrong values; empty: none.
std::string old_reads(const record::RunRecord& record);

}  // namespace fb::judge
