#pragma once

// The folder of measured curves, figures and their programs.

#include <string>

#include "common/base/result.h"

namespace fb::calibrate {

Result<std::string> find_folder();

}  // namespace fb::calibrate
