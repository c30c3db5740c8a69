#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"

namespace shim = fb::shim;

namespace {

// A sticky error stays, whichever call reads it.
cudaError_t last_error(bool reset) {
  shim::ThreadState& mine = shim::thread();
  const cudaError_t error = mine.last_error;
  if (reset) mine.last_error = cudaSuccess;
  const cudaError_t sticky = shim::Session::get().sticky(mine.device);
  return sticky != cudaSuccess ? sticky : error;
}

}  // namespace

FB_API cudaError_t cudaGetLastError() { return last_error(true); }
FB_API cudaError_t cudaPeekAtLastError() { return last_error(false); }

FB_API const char* cudaGetErrorName(cudaError_t error) {
  const char* name = shim::error_name(error);
  return name ? name : "unrecognized error code";
}
FB_API const char* cudaGetErrorString(cudaError_t error) {
  const char* text = shim::error_text(error);
  return text ? text : "unrecognized error code";
}
