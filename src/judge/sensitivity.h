#pragma once

// The timed calls again, on platforms that are slower in one respect each.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/group.h"
#include "judge/session.h"
#include "record/verdict.h"

namespace fb::judge {

struct Sensitivities {
  std::vector<std::vector<record::Timing>> slow = {};  // by group, where it is slower by kSlower
  std::vector<record::Timing> traced = {};             // on the platform as it is, if a trace was wanted
  record::Profile profile = {};                        // the same, if it was wanted
  std::map<std::string, double> wall_seconds = {};     // by phase, of all sessions together
};

// `timed`: a session with timed calls, by virtual time. If it has a trace, one more session writes it; if it is to be
// profiled, one more is. Errors: one of them had a finding.
Result<Sensitivities> measure_sensitivities(const SessionRequest& timed, size_t side_by_side);

}  // namespace fb::judge
