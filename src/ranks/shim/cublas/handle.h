#pragma once

// Handles of both libraries. A cublasHandle_t is a cublasLtHandle_t, too, as it is with NVIDIA's.

#include <cublas_v2.h>

#include <cstddef>

struct cublasContext {
  int device = 0;  // that was current when it was made
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  void* result = nullptr;  // device memory for one number that goes to the host
};

namespace fb::shim::cublas {

// Whether it is one that was made and not destroyed.
bool is_handle(const void* handle);

}  // namespace fb::shim::cublas
