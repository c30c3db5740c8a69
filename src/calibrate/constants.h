#pragma once

// Constants of a platform file, to be changed: by key ("copy.start"), in the file's own units, all else untouched.

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fb::calibrate {

using Values = std::map<std::string, double>;

// Of the keys that are asked for; one that the file does not have itself, but its base, is an error.
Result<Values> read_values(std::string_view platform_text, const std::vector<std::string>& keys);

// The file's text with these values; sources and comments stay.
std::string with_values(std::string_view platform_text, const Values& values);

}  // namespace fb::calibrate
