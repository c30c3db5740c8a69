#pragma once

// The lines of the sources that a finding is about, as people see them in an editor.

#include <string>

#include "common/record/incident.h"

namespace fb::launcher {

// Each line that the finding names, marked by what happens there, with a few lines around it. Empty where the sources
// can't be read.
std::string snippet_of(const record::Incident& incident);

}  // namespace fb::launcher
