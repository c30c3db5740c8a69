#pragma once

#include <string>

#include "cli/arguments.h"
#include "toolchain/compile/device_compiler.h"

namespace fb::cli {

// --device-compiler clang|nvcc
void add_device_compiler_option(Command& command, std::string& name);
toolchain::DeviceCompiler device_compiler_named(const std::string& name);

}  // namespace fb::cli
