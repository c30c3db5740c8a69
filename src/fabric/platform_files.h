#pragma once

// Where platform files lie.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::fabric {

// The file behind a name, or the file itself if that is what the name is.
Result<std::string> find_platform_file(std::string_view name_or_file);

}  // namespace fb::fabric
