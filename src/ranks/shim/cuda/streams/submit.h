#pragma once

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

// Puts work on a stream. `wait`: return when the work has ended; not allowed while capturing
// (cudaErrorStreamCaptureUnsupported).
Error submit(Stream& stream, Work work, bool wait = false);

}  // namespace fb::shim
