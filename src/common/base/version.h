#pragma once

// The version of this build, as verdicts and `fabricbench dev version` state it: "0.5.0+g1a2b3c4d5e".

#include <string_view>

namespace fb {

std::string_view version();

}  // namespace fb
