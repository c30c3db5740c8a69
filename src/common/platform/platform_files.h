#pragma once

// Finds platform files.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::platform {

// The file of a name, or the argument itself if it is a file.
Result<std::string> find_platform_file(std::string_view name_or_file);

}  // namespace fb::platform
