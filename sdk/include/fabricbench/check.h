#pragma once

// Statuses of CUDA's calls, for solutions.

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace fabricbench {

// Throws unless `status` is cudaSuccess.
inline void check_cuda(cudaError_t status, const char* what = "CUDA") {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

}  // namespace fabricbench
