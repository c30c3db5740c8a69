#pragma once

// From assembled sources to shared objects and PTX. The compiler is trusted, what it reads is not: it runs in a sandbox
// in which there are the system's files, the SDK, the source and args.h, and no reference, oracle or other file of the
// host.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
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

// For the virtual node, with clang and our libraries. Errors are the candidate's: at most 20, "solution.cu:3:5:
// message". Failures of ours (no compiler, no SDK, a sandbox that does not start) throw std::runtime_error.
Result<Built> build_candidate(const BuildRequest& request);

// For GPUs, with nvcc and NVIDIA's libraries. Likewise.
Result<Built> build_candidate_cuda(const BuildRequest& request);

}  // namespace fb::judge
