#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace fb::toolchain {

// The device side of one CUDA source file, to be compiled against our own headers.
struct DeviceCompile {
  std::string source = {};
  std::vector<std::string> include_dirs = {};
  std::vector<std::string> defines = {};  // NAME or NAME=VALUE
  std::string gpu_arch = "sm_90";
  std::string standard = "c++20";
  int optimisation = 2;
  std::vector<std::string> extra_flags = {};
  std::chrono::seconds time_limit{60};
};

// PTX text. Wrong source, a missing compiler and a missing SDK come back as Errors: locations are those in `source`,
// and a message about another file names that file. Failures of the system (no process, no disk) throw.
Result<std::string> compile_to_ptx(const DeviceCompile& request);

}  // namespace fb::toolchain
