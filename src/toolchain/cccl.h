#pragma once

// CCCL: cub, thrust and libcu++. The system's are found beside the standard library; a toolkit's by a folder. The SDK
// has small versions of <cuda/atomic>, <cuda/barrier> and some of <cuda/std/…>: with a precompiled header they cost a
// candidate half the compile time of libcu++ 1.8's, whose atomic_ref also keeps its address in local memory. Programs
// that name another header of libcu++ get all of them from there, since both are namespace cuda.

#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile.h"

namespace fb::toolchain {

// Whether the user's files name a header of libcu++ that the SDK does not have.
bool needs_whole_libcudacxx(const DeviceCompile& unit, const std::string& sdk);

bool is_of_cccl(std::string_view header);
// Whether the source defines macros of CCCL, which must come before its headers.
bool sets_up_cccl(const DeviceCompile& unit);

// Headers of CCCL with asm that nvcc takes and clang does not (asm_escapes.h): their changed text is written to
// `folder` and read in their place.
struct CcclOverlay {
  std::vector<std::string> flags = {}, reads = {};
};
CcclOverlay overlay_of_cccl(const std::string& cccl, const std::string& folder);

// What results depend on: the versions that are installed.
std::string cccl_facts(const std::string& folder);

}  // namespace fb::toolchain
