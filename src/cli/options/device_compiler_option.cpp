#include "cli/options/device_compiler_option.h"

namespace fb::cli {

void add_device_compiler_option(Command& command, std::string& name) {
  command
      .add_option("--device-compiler", name,
                  "What compiles device code: clang (default), or NVIDIA's nvcc where it is installed")
      .check(one_of({"clang", "nvcc"}));
}

}  // namespace fb::cli
