#pragma once

// From how a run ended to what the verdict says of it.

#include <optional>
#include <string>

#include "judge/outcome.h"
#include "launcher/launch.h"

namespace fb::judge {

// Nothing where the run ended as it should. `place` and `step` ("run") say where the judge was.
std::optional<Finding> finding_of(const launcher::LaunchResult& result, const record::Place& place,
                                  const std::string& step);

}  // namespace fb::judge
