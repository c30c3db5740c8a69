#pragma once

// What is built, under which limits, and what comes of it.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/sandbox/sandbox.h"
#include "judge/answer/answer.h"
#include "judge/catalog/interface.h"
#include "toolchain/compile/device_compiler.h"

namespace fb::judge {

struct BuildLimits {
  std::chrono::seconds time{20};   // processor time of each run of a compiler; both sides run at once
  std::chrono::seconds wall{100};  // more is not the candidate's fault: this computer is overloaded
  uint64_t memory = uint64_t{2} << 30;
  uint64_t output = uint64_t{64} << 20;
};

struct BuildRequest {
  Sources sources = {};               // from assemble()
  catalog::Interface interface = {};  // of a problem with a driver
  std::string args_header = {};
  std::string gpu_arch = "sm_90a";
  toolchain::DeviceCompiler device_compiler = toolchain::DeviceCompiler::clang;
  std::vector<std::string> libraries = {};  // that the problem allows (judge/catalog/libraries.h)
  std::string folder = {};               // exists; candidate.so, candidate.ptx and those of a driver are written here
  std::vector<std::string> hidden = {};  // folders that the compiler must not see even if they are the system's
  const sandbox::SandboxSupport* sandbox = nullptr;  // null: none, by the user's wish
  BuildLimits limits = {};
  bool use_cache = true;
  bool line_tables = true;
};

struct Built {
  std::string path = {};    // of candidate.so; its PTX is candidate.ptx beside it
  std::string driver = {};  // of driver.so, likewise with driver.ptx; empty: the problem has no driver
  std::vector<std::string> unsupported = {};  // PTX of the manual that the machine does not know
  bool from_cache = false;
  double seconds = 0;
};

}  // namespace fb::judge
