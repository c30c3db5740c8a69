#pragma once

#include <cuda.h>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

// What the driver's descriptions of boxes mean.
Expected<CopyWork> to_box(const CUDA_MEMCPY2D* copy);
Expected<CopyWork> to_box(const CUDA_MEMCPY3D* copy);

}  // namespace fb::shim
