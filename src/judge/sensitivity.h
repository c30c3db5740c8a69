#pragma once

// The timed calls again, on platforms that are slower in one respect each.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/platform/group.h"
#include "common/record/verdict.h"
#include "judge/score/intervals.h"
#include "judge/session/session.h"

namespace fb::judge {

struct Sensitivities {
  std::vector<SlowerRun> slower = {};
  std::vector<record::Timing> traced = {};          // on the platform as it is, if a trace was wanted
  record::Profile profile = {};                     // the same, if it was wanted
  std::map<std::string, double> wall_seconds = {};  // by phase, of all sessions together
};

// `timed`: a session with timed calls, by virtual time. If it has a trace, one more session writes it; if it is to be
// profiled, one more is. `factors`: for each group and each of them one more is, where the group is slower by the
// factor. Errors: one of them had a finding.
Result<Sensitivities> measure_again(const SessionRequest& timed, const std::vector<double>& factors,
                                    size_t side_by_side);

}  // namespace fb::judge
