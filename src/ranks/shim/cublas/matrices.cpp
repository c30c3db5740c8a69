// geam: alpha op(A) + beta op(B).

#include <algorithm>

#include "ranks/shim/cublas/export.h"
#include "ranks/shim/cublas/handle.h"
#include "ranks/shim/cublas/product.h"

namespace fb::shim::cublas {
namespace {

using wire::ElementType;

struct MatrixSum {
  cublasHandle_t handle = nullptr;
  cublasOperation_t transa{}, transb{};
  int64_t m = 0, n = 0;
  const void* alpha = nullptr;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* beta = nullptr;
  const void* b = nullptr;
  int64_t ldb = 0;
  const void* c = nullptr;
  int64_t ldc = 0;
  ElementType type{};
};

// In place it works where the operand is not transposed and has the leading dimension of C.
bool overlaps_wrongly(const void* operand, cublasOperation_t trans, int64_t ld, const MatrixSum& s) {
  return operand == s.c && (trans != CUBLAS_OP_N || ld != s.ldc);
}

cublasStatus_t add_matrices(const MatrixSum& s, const Caller& caller) {
  if (!is_handle(s.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(s.transa) || !is_operation(s.transb) || s.m < 0 || s.n < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = s.transa != CUBLAS_OP_N, tb = s.transb != CUBLAS_OP_N;
  if (!s.alpha || !s.beta || s.lda < std::max<int64_t>(1, ta ? s.n : s.m) ||
      s.ldb < std::max<int64_t>(1, tb ? s.n : s.m) || s.ldc < std::max<int64_t>(1, s.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (s.m == 0 || s.n == 0) return CUBLAS_STATUS_SUCCESS;
  if (!s.c || overlaps_wrongly(s.a, s.transa, s.lda, s) || overlaps_wrongly(s.b, s.transb, s.ldb, s))
    return CUBLAS_STATUS_INVALID_VALUE;
  wire::Blas request;
  request.kind = wire::BlasKind::matrix_sum;
  request.m = static_cast<uint64_t>(s.m);
  request.n = static_cast<uint64_t>(s.n);
  request.a = {address_of(s.a), ta ? s.lda : 1, ta ? 1 : s.lda, 0, s.type, 0};
  request.b = {address_of(s.b), tb ? s.ldb : 1, tb ? 1 : s.ldb, 0, s.type, 0};
  request.d = {address_of(s.c), 1, s.ldc, 0, s.type, 0};
  const bool on_device = s.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  request.alpha = scalar_at(s.alpha, s.type, on_device);
  request.beta = scalar_at(s.beta, s.type, on_device);
  return submit(request, s.handle->stream, caller);
}

}  // namespace
}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

#define FB_INT int
#define FB_NAME(name) name
#include "ranks/shim/cublas/matrices.inl"
#undef FB_NAME
#undef FB_INT
#define FB_INT int64_t
#define FB_NAME(name) name##_64
#include "ranks/shim/cublas/matrices.inl"
#undef FB_NAME
#undef FB_INT
