#pragma once

// The verdict's figures in a timeline.

#include <string>
#include <vector>

#include "common/record/verdict.h"

namespace fb::judge {

// Adds a row of the timed calls to a timeline: a span for each of `traced`, the calls as that session had them, which
// is named after the size and carries what `timings` say of it: time, interval, speed, limit, bound. Throws where the
// file can't be changed.
void label_timed_calls(const std::string& file, const std::vector<record::Timing>& traced,
                       const std::vector<record::Timing>& timings);

}  // namespace fb::judge
