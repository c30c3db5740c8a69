#pragma once

#include <string>

#include "cli/arguments.h"

namespace fb::cli {

// --device-compiler clang|nvcc. Empty: not given, which is clang, or what a run that is resumed has.
void add_device_compiler_option(Command& command, std::string& name);

}  // namespace fb::cli
