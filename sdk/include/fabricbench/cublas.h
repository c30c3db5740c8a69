#pragma once

// cuBLAS with checked statuses, for solutions that may use the library.

#include <cublas_v2.h>
#include <fabricbench/check.h>

#include <stdexcept>

namespace fabricbench {

// Throws unless `status` is CUBLAS_STATUS_SUCCESS.
inline void check_cublas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

}  // namespace fabricbench
