#pragma once

// What --profile prints.

#include <string>

#include "common/record/profile.h"

namespace fb::cli {

// Lines of code come from the files that the profile names; `answer`: a file that was compiled under its own name in
// another place.
std::string profile_text(const record::Profile& profile, const std::string& answer = {});

}  // namespace fb::cli
