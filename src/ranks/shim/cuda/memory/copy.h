#pragma once

#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

// Checks directions as CUDA does and puts the copy on the stream. `synchronous`: as cudaMemcpy waits, that is not for
// copies between devices.
Error copy(const CopyWork& box, cudaStream_t stream, bool synchronous);
Error fill(const MemsetWork& box, cudaStream_t stream, bool synchronous);

inline CopyWork line(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return {.to = to,
          .to_pitch = bytes,
          .to_plane = bytes,
          .from = from,
          .from_pitch = bytes,
          .from_plane = bytes,
          .width = bytes,
          .height = 1,
          .depth = 1,
          .kind = kind};
}

}  // namespace fb::shim
