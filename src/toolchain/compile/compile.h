#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "toolchain/compile/device_compile.h"

namespace fb::toolchain {

// The host side of one source file, with the device side inside it.
struct HostCompile {
  DeviceCompile unit = {};
  // PTX to embed, NUL-terminated because the runtime gets no length. May be a FIFO: it is read last. Empty: plain C++
  // without kernels.
  std::string ptx = {};
  std::string object = {};  // where to write
};

// The flags of clang for a CUDA file, for both sides; `sdk` is the folder of the SDK.
std::vector<std::string> language_flags(const DeviceCompile& request, const std::string& sdk);
std::vector<std::string> device_flags(const DeviceCompile& request);
std::vector<std::string> host_flags(const DeviceCompile& request);
// All flags of both sides: with the same ones, the same files become the same object.
std::vector<std::string> all_flags(const DeviceCompile& request, const std::string& sdk);

// Returns PTX. Wrong source, a missing compiler and a missing SDK are Errors with locations in `source`; a message
// about another file names that file. Failures of the system (no process, no disk) throw.
Result<std::string> compile_to_ptx(const DeviceCompile& request);

// Writes an object file. Errors as above.
Result<void> compile_host(const HostCompile& request);

}  // namespace fb::toolchain
