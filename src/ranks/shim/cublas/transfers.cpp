// Vectors and matrices between host and device: copies of the runtime.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "ranks/shim/cublas/export.h"

namespace fb::shim::cublas {
namespace {

// Columns, or elements of a vector.
struct Transfer {
  int64_t count = 0, size = 0;
  const void* from = nullptr;
  int64_t from_step = 0;
  void* to = nullptr;
  int64_t to_step = 0;
};

cublasStatus_t copy_columns(int64_t rows, const Transfer& t, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  const auto bytes = [&](int64_t n) { return static_cast<size_t>(n * t.size); };
  const size_t width = bytes(rows), columns = static_cast<size_t>(t.count);
  const cudaError_t e =
      wait ? cudaMemcpy2D(t.to, bytes(t.to_step), t.from, bytes(t.from_step), width, columns, kind)
           : cudaMemcpy2DAsync(t.to, bytes(t.to_step), t.from, bytes(t.from_step), width, columns, kind, stream);
  return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t copy_vector(const Transfer& t, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (t.size <= 0 || t.from_step <= 0 || t.to_step <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (t.count <= 0) return CUBLAS_STATUS_SUCCESS;
  return copy_columns(1, t, kind, stream, wait);
}

cublasStatus_t copy_matrix(int64_t rows, const Transfer& t, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (rows < 0 || t.count < 0 || t.size <= 0 || t.from_step <= 0 || t.to_step <= 0 || t.from_step < rows ||
      t.to_step < rows)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || t.count == 0) return CUBLAS_STATUS_SUCCESS;
  return copy_columns(rows, t, kind, stream, wait);
}

}  // namespace
}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

#define FB_INT int
#define FB_NAME(name) name
#include "ranks/shim/cublas/transfers.inl"
#undef FB_NAME
#undef FB_INT
#define FB_INT int64_t
#define FB_NAME(name) name##_64
#include "ranks/shim/cublas/transfers.inl"
#undef FB_NAME
#undef FB_INT
