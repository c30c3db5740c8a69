#include "ranks/shim/cublas/handle.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <set>

#include "ranks/shim/cublas/export.h"
#include "ranks/shim/cublas/submit.h"

namespace fb::shim::cublas {
namespace {

constexpr size_t kResultBytes = 16;

std::mutex& mutex() {
  static auto* const made = new std::mutex;
  return *made;
}
std::set<const void*>& handles() {
  static auto* const made = new std::set<const void*>;
  return *made;
}

cublasStatus_t create(cublasContext** into) {
  if (!into) return CUBLAS_STATUS_INVALID_VALUE;
  *into = nullptr;
  auto made = std::make_unique<cublasContext>();
  if (cudaGetDevice(&made->device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  void* result = nullptr;
  if (const cudaError_t e = cudaMalloc(&result, kResultBytes); e != cudaSuccess)
    return e == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_INITIALIZED;
  made->results.push_back(result);
  const std::lock_guard lock(mutex());
  handles().insert(made.get());
  *into = made.release();
  return CUBLAS_STATUS_SUCCESS;
}

// NVIDIA's waits for the device, too: its workspace may be in use.
cublasStatus_t destroy(cublasContext* handle) {
  {
    const std::lock_guard lock(mutex());
    if (handles().erase(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const std::unique_ptr<cublasContext> owned(handle);
  int current = 0;
  cudaGetDevice(&current);
  cudaSetDevice(handle->device);
  for (void* const result : handle->results) cudaFree(result);
  cudaSetDevice(current);
  return CUBLAS_STATUS_SUCCESS;
}

// Sets or gets a mode of a handle.
template <class Mode>
cublasStatus_t get(cublasHandle_t handle, Mode cublasContext::* member, Mode* into) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!into) return CUBLAS_STATUS_INVALID_VALUE;
  *into = handle->*member;
  return CUBLAS_STATUS_SUCCESS;
}
template <class Mode>
cublasStatus_t set(cublasHandle_t handle, Mode cublasContext::* member, Mode mode, bool valid) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  handle->*member = mode;
  return CUBLAS_STATUS_SUCCESS;
}

bool is_math_mode(int mode) {
  const int base = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  return base >= CUBLAS_DEFAULT_MATH && base <= CUBLAS_TF32_TENSOR_OP_MATH;
}

}  // namespace

bool is_handle(const void* handle) {
  const std::lock_guard lock(mutex());
  return handles().contains(handle);
}

HostResult::HostResult(cublasContext& handle) : handle_(handle) {
  {
    const std::lock_guard lock(handle.mutex);
    if (!handle.results.empty()) {
      memory_ = handle.results.back();
      handle.results.pop_back();
      return;
    }
  }
  int current = 0;
  cudaGetDevice(&current);
  cudaSetDevice(handle.device);
  if (cudaMalloc(&memory_, kResultBytes) != cudaSuccess) memory_ = nullptr;
  cudaSetDevice(current);
}

HostResult::~HostResult() {
  if (!memory_) return;
  const std::lock_guard lock(handle_.mutex);
  handle_.results.push_back(memory_);
}

}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

FB_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) { return create(handle); }
FB_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return destroy(handle); }

FB_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (!version) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

FB_API cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  constexpr int kVersion[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = kVersion[type];
  return CUBLAS_STATUS_SUCCESS;
}

FB_API size_t cublasGetCudartVersion() { return CUDART_VERSION; }

FB_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return set(handle, &cublasContext::stream, stream, true);
}
FB_API cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return get(handle, &cublasContext::stream, stream);
}

// Partial sums are nowhere: the size makes no difference.
FB_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  constexpr uintptr_t kAlignment = 256;
  if (bytes != 0 && (!workspace || reinterpret_cast<uintptr_t>(workspace) % kAlignment != 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

FB_API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return get(handle, &cublasContext::pointer_mode, mode);
}
FB_API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return set(handle, &cublasContext::pointer_mode, mode,
             mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE);
}
FB_API cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return get(handle, &cublasContext::atomics_mode, mode);
}
FB_API cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return set(handle, &cublasContext::atomics_mode, mode,
             mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED);
}
FB_API cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return get(handle, &cublasContext::math_mode, mode);
}
FB_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return set(handle, &cublasContext::math_mode, mode, is_math_mode(mode));
}
FB_API cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return get(handle, &cublasContext::sm_count_target, count);
}
FB_API cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return set(handle, &cublasContext::sm_count_target, count, count >= 0);
}

// Of cublasLt: the same handles.
FB_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return create(reinterpret_cast<cublasContext**>(handle));
}
FB_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy(reinterpret_cast<cublasContext*>(handle));
}
