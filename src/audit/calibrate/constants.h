#pragma once

// Reads and changes constants of a platform file by key ("copy.start"), in the file's own units; all other text is
// kept.

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace fb::calibrate {

using Values = std::map<std::string, double>;

// The values of `keys`. A key that only the file's base has is an error.
Result<Values> read_values(std::string_view platform_text, const std::vector<std::string>& keys);

// The file's text with these values; sources and comments stay.
std::string with_values(std::string_view platform_text, const Values& values);

}  // namespace fb::calibrate
