#pragma once

// Handles of both libraries. A cublasHandle_t is a cublasLtHandle_t, too, as it is with NVIDIA's.

#include <cublas_v2.h>

#include <cstddef>
#include <mutex>
#include <vector>

struct cublasContext {
  int device = 0;  // that was current when it was made
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  // Device memory, each for one number that goes to the host, that no call uses now.
  std::mutex mutex;
  std::vector<void*> results;
};

namespace fb::shim::cublas {

// Whether it is one that was made and not destroyed.
bool is_handle(const void* handle);

// Device memory for the number that one call gives to the host: threads may share a handle. Null: there is none left.
class HostResult {
 public:
  explicit HostResult(cublasContext& handle);
  HostResult(const HostResult&) = delete;
  HostResult& operator=(const HostResult&) = delete;
  ~HostResult();
  void* memory() const { return memory_; }

 private:
  cublasContext& handle_;
  void* memory_ = nullptr;
};

}  // namespace fb::shim::cublas
