#pragma once

#include <string>
#include <vector>

#include "toolchain/compile/device_compiler.h"

namespace fb::judge {

// A hash of everything besides problem, answer and request that a verdict depends on: fabricbench, fabricbench-machine,
// fabricbench-rank, fabricbench-confine, libfabricbench_cuda.so, the SDK's headers, the compilers, and the values of
// the platform (a name or a file). Verdicts and times that are kept are those of one identity. A program that is
// replaced while this process runs gives another identity. Parts that are missing have a hash of their own.
std::string identity(const std::string& platform,
                     toolchain::DeviceCompiler device_compiler = toolchain::DeviceCompiler::clang);

// What identity() is made of.
struct IdentityParts {
  std::vector<std::string> programs;  // files whose contents count, in this order; missing ones count as missing
  std::string toolchain;              // toolchain::identity_of()
  std::string platform;               // platform::values_text()
};
IdentityParts identity_parts(const std::string& platform, toolchain::DeviceCompiler device_compiler);
std::string identity_of(const IdentityParts& parts);

}  // namespace fb::judge
