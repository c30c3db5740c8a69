#pragma once

// From how a run ended to what the verdict says of it.

#include <optional>
#include <string>

#include "judge/outcome.h"
#include "launcher/launch.h"

namespace fb::judge {

// Nothing where the run ended as it should. `location` and `step` ("run") are those of the judge.
std::optional<Ruling> finding_of(const launcher::LaunchResult& result, const record::FailureLocation& location,
                                 const std::string& step);

}  // namespace fb::judge
