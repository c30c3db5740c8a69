// gemm in all its forms, and what it shares with products of a matrix and a vector.

#include <algorithm>

#include "ranks/shim/cublas/element_types.h"
#include "ranks/shim/cublas/export.h"
#include "ranks/shim/cublas/handle.h"
#include "ranks/shim/cublas/not_modelled.h"
#include "ranks/shim/cublas/product.h"

namespace fb::shim::cublas {
namespace {

wire::BlasOperand operand_of(const Factor& f, bool transposed, bool by_pointers) {
  wire::BlasOperand o;
  o.address = address_of(f.at);
  o.row_stride = transposed ? f.ld : 1;
  o.column_stride = transposed ? 1 : f.ld;
  o.batch_stride = f.stride;
  o.type = *element_of(f.type);
  o.by_pointers = by_pointers ? 1 : 0;
  return o;
}

bool is_transposed(cublasOperation_t operation) { return operation != CUBLAS_OP_N; }

}  // namespace

bool is_operation(cublasOperation_t operation) { return operation >= CUBLAS_OP_N && operation <= CUBLAS_OP_C; }

uint64_t first_of(const void* at, int64_t count, int64_t step, size_t size) {
  if (step >= 0 || count == 0) return address_of(at);
  return address_of(at) + static_cast<uint64_t>((1 - count) * step) * size;
}

cublasStatus_t multiply(const Product& p, const Caller& caller) {
  if (!is_handle(p.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(p.transa) || !is_operation(p.transb)) return CUBLAS_STATUS_INVALID_VALUE;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = is_transposed(p.transa), tb = is_transposed(p.transb);
  if (p.a.ld < std::max<int64_t>(1, ta ? p.k : p.m) || p.b.ld < std::max<int64_t>(1, tb ? p.n : p.k) ||
      p.c.ld < std::max<int64_t>(1, p.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!p.alpha || !p.beta) return CUBLAS_STATUS_INVALID_VALUE;
  if (is_complex(p.a.type)) return static_cast<cublasStatus_t>(not_modelled(caller.name));
  ProductMath math;
  const ProductTypes types{p.a.type, p.b.type, p.c.type, p.c.type, p.compute, {}};
  if (const cublasStatus_t s = find_math(types, p.handle->math_mode, math); s != CUBLAS_STATUS_SUCCESS) return s;
  if (p.m == 0 || p.n == 0 || p.batches == 0) return CUBLAS_STATUS_SUCCESS;
  if (!p.c.at) return CUBLAS_STATUS_INVALID_VALUE;

  wire::Blas request;
  request.kind = wire::BlasKind::gemm;
  request.math = math.math;
  request.m = static_cast<uint64_t>(p.m);
  request.n = static_cast<uint64_t>(p.n);
  request.k = static_cast<uint64_t>(p.k);
  request.batches = static_cast<uint64_t>(p.batches);
  request.a = operand_of(p.a, ta, p.by_pointers);
  request.b = operand_of(p.b, tb, p.by_pointers);
  request.c = request.d = operand_of(p.c, false, p.by_pointers);
  const bool on_device = p.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  request.alpha = scalar_at(p.alpha, math.scalar, on_device);
  request.beta = scalar_at(p.beta, math.scalar, on_device);
  return submit(request, p.handle->stream, caller);
}

// A product with one column.
cublasStatus_t multiply_vector(const MatrixVector& p, const Caller& caller) {
  if (!is_handle(p.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(p.trans) || p.m < 0 || p.n < 0 || p.batches < 0 || p.incx == 0 || p.incy == 0 ||
      p.lda < std::max<int64_t>(1, p.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!p.alpha || !p.beta) return CUBLAS_STATUS_INVALID_VALUE;
  if (p.m == 0 || p.n == 0 || p.batches == 0) return CUBLAS_STATUS_SUCCESS;
  // Pointers are on the device, where they can't be moved to the last element.
  if (p.by_pointers && (p.incx < 0 || p.incy < 0)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool transposed = is_transposed(p.trans);
  const int64_t rows = transposed ? p.n : p.m, inner = transposed ? p.m : p.n;
  const size_t size = p.type == wire::ElementType::f64 ? 8 : 4;
  wire::Blas request;
  request.kind = wire::BlasKind::gemm;
  request.math = p.type == wire::ElementType::f64 ? wire::BlasMath::f64 : wire::BlasMath::f32;
  request.m = static_cast<uint64_t>(rows);
  request.n = 1;
  request.k = static_cast<uint64_t>(inner);
  request.batches = static_cast<uint64_t>(p.batches);
  const uint32_t by_pointers = p.by_pointers ? 1 : 0;
  request.a = {address_of(p.a), transposed ? p.lda : 1, transposed ? 1 : p.lda, p.stridea, p.type, by_pointers};
  request.b = {first_of(p.x, inner, p.incx, size), p.incx, 0, p.stridex, p.type, by_pointers};
  request.c = {first_of(p.y, rows, p.incy, size), p.incy, 0, p.stridey, p.type, by_pointers};
  request.d = request.c;
  const bool on_device = p.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  request.alpha = scalar_at(p.alpha, p.type, on_device);
  request.beta = scalar_at(p.beta, p.type, on_device);
  return submit(request, p.handle->stream, caller);
}

}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

#define FB_INT int
#define FB_NAME(name) name
#include "ranks/shim/cublas/gemm.inl"
#undef FB_NAME
#undef FB_INT

#define FB_INT int64_t
#define FB_NAME(name) name##_64
#include "ranks/shim/cublas/gemm.inl"
#undef FB_NAME
#undef FB_INT
