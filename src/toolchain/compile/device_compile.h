#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile/device_compiler.h"
#include "toolchain/compile/invocation.h"

namespace fb::toolchain {

// Defined for programs whose default stream is each thread's own; kernels are launched accordingly.
inline constexpr std::string_view kOwnDefaultStream = "CUDA_API_PER_THREAD_DEFAULT_STREAM";

// The device side of one CUDA source file, to be compiled with the headers of the SDK.
struct DeviceCompile {
  std::string source = {};
  std::vector<std::string> include_dirs = {};
  std::vector<std::string> defines = {};  // NAME or NAME=VALUE
  std::string gpu_arch = "sm_90";
  DeviceCompiler device_compiler = DeviceCompiler::clang;
  Arithmetic arithmetic = {};
  uint32_t max_registers = 0;  // of a thread, for kernels without __launch_bounds__; 0: any number
  std::string standard = "c++20";
  int optimisation = 2;  // of the host; device code is always optimised as nvcc does it
  std::vector<std::string> extra_flags = {};
  TimeLimits time_limits = {};  // of each run of the compiler
  bool kernels = true;          // the CUDA language; otherwise C++ for the host alone, as nvcc takes .cpp files
  bool include_runtime = true;  // as nvcc does for .cu files, and not for .cpp
  // Read in place of cuda_runtime.h (precompiled_header.h); empty: none.
  std::string precompiled_header = {};
  // Headers that may be precompiled; empty: all that can be. Each new set of headers costs seconds once.
  std::vector<std::string> ahead = {};
  // Output file for the list of user files that were read, in make's format; empty: none.
  std::string dependencies = {};
  // Folder of a CCCL (cub, thrust, libcu++) that is used in place of the system's; empty: the system's.
  std::string cccl = {};
  // namespace cuda is libcu++'s, and not the SDK's smaller one (cccl.h).
  bool whole_libcudacxx = false;
  bool shared = false;  // for a shared object with hidden visibility
  // An access through a cast keeps the alignment of the object that clang sees: a cast's operand takes no unary plus.
  bool declared_casts = false;
  // Lambdas of the device are also the host's. clang refuses one that a concept asks about in host code, as in
  // `requires std::invocable<F, int>` of a kernel, where nvcc accepts it. They are emitted for no host.
  bool host_lambdas = false;
  // -rdc=true: device code may refer to that of other files (relocatable.h). `unique_id` distinguishes the file from
  // all others that it may be linked with.
  bool relocatable = false;
  std::string unique_id = {};
  // Host code reports its accesses to memory: for libibverbs (ranks/shim/verbs/observe.h).
  bool observed = false;
  bool plain_c = false;  // with `kernels` off: C
  // Places, "file:line:column", of what clang refuses and nvcc accepts: shared variables with a constructor or
  // destructor, which become bytes, and names of types without "typename".
  std::set<std::string> refused_places = {};
  Wrapper wrapper = {};
  std::vector<std::string> reads = {};  // further files and folders that the wrapper makes visible
};

}  // namespace fb::toolchain
