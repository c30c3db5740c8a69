#pragma once

#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

// The runtime's description of a copy in three dimensions. Arrays are not supported.
Expected<CopyWork> to_box(const cudaMemcpy3DParms& parameters);

}  // namespace fb::shim
