#pragma once

#include <string>

#include "common/base/result.h"
#include "toolchain/compile/device_compile.h"
#include "toolchain/compile/locate.h"

namespace fb::toolchain {

// The PTX that NVIDIA's compiler makes of a source, with NVIDIA's headers; of the SDK it reads <fabricbench/…> and
// headers that a toolkit does not have (nccl.h, infiniband/verbs.h). Errors as in compile_to_ptx.
Result<std::string> ptx_of_nvcc(const DeviceCompile& request, const Locations& where, const std::string& scratch);

}  // namespace fb::toolchain
