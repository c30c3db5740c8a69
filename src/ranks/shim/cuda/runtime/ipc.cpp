#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/memory/memory.h"

namespace shim = fb::shim;
using shim::record;

FB_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return record(shim::export_memory(handle, pointer));
}

FB_API cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  if (!pointer || flags != cudaIpcMemLazyEnablePeerAccess) return record(cudaErrorInvalidValue);
  const auto address = shim::import_memory(handle);
  if (!address) return record(address.error());
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

FB_API cudaError_t cudaIpcCloseMemHandle(void* pointer) { return record(shim::close_imported(pointer)); }
