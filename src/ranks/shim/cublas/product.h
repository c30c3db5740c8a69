#pragma once

// Products of matrices as the functions of cublas_api.h describe them: column-major, alpha op(A) op(B) + beta C.

#include <cublas_v2.h>

#include <cstdint>

#include "ranks/shim/cublas/submit.h"

namespace fb::shim::cublas {

struct Factor {
  const void* at = nullptr;  // or the array of pointers
  cudaDataType type{};
  int64_t ld = 0, stride = 0;
};

struct Product {
  cublasHandle_t handle = nullptr;
  cublasOperation_t transa{}, transb{};
  int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  Factor a, b;
  const void* beta = nullptr;
  Factor c;
  cublasComputeType_t compute{};
  int64_t batches = 1;
  bool by_pointers = false;
};

cublasStatus_t multiply(const Product& product, const Caller& caller);

// y = alpha op(A) x + beta y, with A of m × n.
struct MatrixVector {
  cublasHandle_t handle = nullptr;
  cublasOperation_t trans{};
  int64_t m = 0, n = 0;
  const void* alpha = nullptr;
  const void* a = nullptr;
  int64_t lda = 0, stridea = 0;
  const void* x = nullptr;
  int64_t incx = 0, stridex = 0;
  const void* beta = nullptr;
  const void* y = nullptr;
  int64_t incy = 0, stridey = 0;
  wire::ElementType type{};
  int64_t batches = 1;
  bool by_pointers = false;
};
cublasStatus_t multiply_vector(const MatrixVector& product, const Caller& caller);

bool is_operation(cublasOperation_t operation);
// A vector's first element in memory order, which for a negative step is its last.
uint64_t first_of(const void* at, int64_t count, int64_t step, size_t size);

}  // namespace fb::shim::cublas
