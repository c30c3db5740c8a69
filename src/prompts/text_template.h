#pragma once

// Text with gaps:
//
//   {{name}}                the value
//   {{#name}} … {{/name}}   only if the value is not empty
//   {{omit name}}           this text does without it
//
// A line that holds nothing but one of the last two kinds vanishes. Names that have no value, and values that are
// neither used nor omitted, are errors: what a writer misspells must not go unnoticed. Values are inserted as they are.

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fb::prompts {

using Values = std::map<std::string, std::string>;

// All mistakes, each as "file:line: message".
Result<std::string> fill(std::string_view file, std::string_view text, const Values& values);

}  // namespace fb::prompts
