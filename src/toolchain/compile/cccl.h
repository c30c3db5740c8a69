#pragma once

// CCCL: cub, thrust and libcu++. The system's are found beside the standard library; a toolkit's by a folder. The SDK
// has small versions of <cuda/atomic>, <cuda/barrier> and some of <cuda/std/…>: with a precompiled header they cost a
// candidate half the compile time of libcu++ 1.8's, whose atomic_ref also keeps its address in local memory. Programs
// that name another header of libcu++ get all of them from there, since both are namespace cuda.

#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile/compile.h"

namespace fb::toolchain {

// Says which headers of libcu++ a unit reads, its own or the SDK's. Changed copies of some are written to `folder`,
// which must outlive the compilation and precompiled headers made of them.
void choose_cccl(DeviceCompile& unit, const std::string& sdk, const std::string& folder);

bool is_of_cccl(std::string_view header);
// Whether the source defines macros of CCCL, which must come before its headers.
bool sets_up_cccl(const DeviceCompile& unit);

// A part of CCCL: its name, the Debian package that has it, and its version; empty: it is not installed.
struct CcclPart {
  std::string name, package, version;
};
std::vector<CcclPart> cccl_parts(const std::string& folder);

// What results depend on: the versions that are installed.
std::string cccl_facts(const std::string& folder);

}  // namespace fb::toolchain
