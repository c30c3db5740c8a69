#include "cli/options/device_compiler_option.h"

namespace fb::cli {

void add_device_compiler_option(Command& command, std::string& name) {
  name = "clang";
  command
      .add_option("--device-compiler", name, "What compiles device code: NVIDIA's nvcc where it is installed, or clang")
      .check(one_of({"clang", "nvcc"}))
      .show_default();
}

toolchain::DeviceCompiler device_compiler_named(const std::string& name) {
  return name == "nvcc" ? toolchain::DeviceCompiler::nvcc : toolchain::DeviceCompiler::clang;
}

}  // namespace fb::cli
