#pragma once

// Text templates:
//
//   {{name}}                the value
//   {{#name}} … {{/name}}   only if the value is not empty
//   {{omit name}}           this text does not use the value
//
// A line that holds nothing but one of the last two kinds vanishes. Names that have no value, and values that are
// neither used nor omitted, are errors, so that a misspelt name is noticed. Values are inserted verbatim.

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace fb::prompts {

using Values = std::map<std::string, std::string>;

// All errors, each as "file:line: message".
Result<std::string> fill(std::string_view file, std::string_view text, const Values& values);

}  // namespace fb::prompts
