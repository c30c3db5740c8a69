#include "ranks/shim/cuda/driver/driver.h"

#include <algorithm>
#include <atomic>

#include "ranks/shim/cuda/api_table.h"
#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {
namespace {

std::atomic<bool> initialised = false;

constexpr int kVersion = CUDA_VERSION;

bool is_result(Error error) {
  switch (static_cast<int>(error)) {
#define FABRICBENCH_RESULT(name, number) case number:
#include <fabricbench/driver/results.def>
    return true;
    default:
      return false;
  }
}

}  // namespace

CUresult to_result(Error error) {
  if (is_result(error)) return static_cast<CUresult>(error);
  switch (error) {
    case cudaErrorInvalidDeviceFunction:
      return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol:
      return CUDA_ERROR_NOT_FOUND;
    case cudaErrorIncompatibleDriverContext:
      return CUDA_ERROR_INVALID_CONTEXT;
    default:
      // Configurations, pitches, directions, pointers: the driver calls all of them values.
      return CUDA_ERROR_INVALID_VALUE;
  }
}

Error require_init() {
  if (!initialised && !Session::get().connected()) return cudaErrorInitializationError;
  return Session::get().connect();
}

Error require_context() {
  if (const Error e = require_init(); e != cudaSuccess) return e;
  return thread().has_context ? cudaSuccess : cudaErrorDeviceUninitialized;
}

}  // namespace fb::shim

using namespace fb::shim;

FB_API CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Error e = Session::get().connect();
  if (e == cudaSuccess) initialised = true;
  return to_result(e);
}

FB_API CUresult cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = kVersion;
  return CUDA_SUCCESS;
}

FB_API CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = nullptr;
  switch (error) {
#define FABRICBENCH_RESULT(word, number) \
  case CUDA_##word:                      \
    *name = "CUDA_" #word;               \
    break;
#include <fabricbench/driver/results.def>
  }
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FB_API CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  const char* name = nullptr;
  if (cuGetErrorName(error, &name) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  const char* const known = error_text(static_cast<Error>(error));
  *text = known ? known : name;
  return CUDA_SUCCESS;
}

FB_API CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult* result) {
  if (!name || !function || flags > 3) return CUDA_ERROR_INVALID_VALUE;
  // A program built for a later CUDA than this one gets what this one has.
  *function = find_driver_function(name, std::min(version, kVersion));
  if (result) *result = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  // A missing name is reported through the status, if the caller asked for one.
  return *function || result ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

FB_API CUresult cuProfilerStart() { return CUDA_SUCCESS; }
FB_API CUresult cuProfilerStop() { return CUDA_SUCCESS; }

// What the name was before CUDA 12.
#undef cuGetProcAddress
FB_API CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags);
FB_API CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
