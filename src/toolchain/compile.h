#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolchain/invocation.h"

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
  bool include_runtime = true;  // as nvcc does for .cu files, and not for .cpp
  // Read in place of cuda_runtime.h (precompiled_header.h); empty: none.
  std::string precompiled_header = {};
  // Headers that may be compiled ahead; empty: all that can be. Each set of them that a source names costs seconds
  // once.
  std::vector<std::string> ahead = {};
  // Where to write a list of the user's files that were read, as make reads it; empty: nowhere.
  std::string dependencies = {};
  bool shared = false;  // for a shared object, of which only what is marked can be seen
  Wrapper wrapper = {};
  std::vector<std::string> reads = {};  // what the wrapper must know of besides the SDK and the names above
};

// The host side of one source file, with the device side inside it.
struct HostCompile {
  DeviceCompile unit = {};
  // PTX for the program to carry, as a text that ends in a NUL, because the runtime gets no length. May be a FIFO: it
  // is read last. Empty: the file is plain C++ and has no kernels.
  std::string ptx = {};
  std::string object = {};  // where to write
};

// What clang must be told of a CUDA file, for both sides; the SDK is in `sdk`.
std::vector<std::string> language_flags(const DeviceCompile& request, const std::string& sdk);
std::vector<std::string> device_flags(const DeviceCompile& request);
std::vector<std::string> host_flags(const DeviceCompile& request);

// PTX text. Wrong source, a missing compiler and a missing SDK come back as Errors: locations are those in `source`,
// and a message about another file names that file. Failures of the system (no process, no disk) throw.
Result<std::string> compile_to_ptx(const DeviceCompile& request);

// Writes an object file. Errors as above.
Result<void> compile_host(const HostCompile& request);

}  // namespace fb::toolchain
