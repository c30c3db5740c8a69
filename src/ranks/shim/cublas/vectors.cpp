// Functions of vectors, and of a matrix with vectors.

#include <cuda_runtime_api.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "common/wire/element_type.h"
#include "ranks/shim/cublas/element_types.h"
#include "ranks/shim/cublas/export.h"
#include "ranks/shim/cublas/handle.h"
#include "ranks/shim/cublas/not_modelled.h"
#include "ranks/shim/cublas/product.h"

namespace fb::shim::cublas {
namespace {

using wire::BlasKind;
using wire::ElementType;

template <class T>
constexpr ElementType kType = ElementType::f32;
template <>
constexpr ElementType kType<double> = ElementType::f64;
template <>
constexpr ElementType kType<int> = ElementType::i32;
template <>
constexpr ElementType kType<int64_t> = ElementType::i64;

struct Vector {
  const void* at = nullptr;
  ElementType type{};
  int64_t step = 0;
};

wire::BlasOperand operand_of(const Vector& v, int64_t n) {
  return {first_of(v.at, n, v.step, size_of(v.type)), v.step, 0, 0, v.type, 0};
}

bool on_device(cublasHandle_t handle) { return handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }

struct Update {
  cublasHandle_t handle = nullptr;
  BlasKind kind{};
  int64_t n = 0;
  const void* alpha = nullptr;
  ElementType alpha_type{};
  Vector x, y;
};

cublasStatus_t update(const Update& u, const Caller& caller) {
  if (!is_handle(u.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool scales = u.kind == BlasKind::add_scaled || u.kind == BlasKind::scale_vector;
  if (scales && !u.alpha) return CUBLAS_STATUS_INVALID_VALUE;
  // As BLAS has it: nothing to do.
  if (u.n <= 0 || (u.kind == BlasKind::scale_vector && u.y.step <= 0)) return CUBLAS_STATUS_SUCCESS;
  wire::Blas request;
  request.kind = u.kind;
  request.m = static_cast<uint64_t>(u.n);
  request.n = 1;
  if (u.x.at || u.kind != BlasKind::scale_vector) request.a = operand_of(u.x, u.n);
  request.d = operand_of(u.y, u.n);
  if (scales) request.alpha = scalar_at(u.alpha, u.alpha_type, on_device(u.handle));
  return submit(request, u.handle->stream, caller);
}

struct Reduce {
  cublasHandle_t handle = nullptr;
  BlasKind kind{};
  int64_t n = 0;
  Vector x, y;
  void* result = nullptr;
  ElementType result_type{};
};

// A result for the host is waited for.
cublasStatus_t reduce(const Reduce& r, const Caller& caller) {
  if (!is_handle(r.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!r.result) return CUBLAS_STATUS_INVALID_VALUE;
  const bool has_elements = r.n > 0 && (r.kind == BlasKind::dot || r.x.step > 0);
  const int64_t n = has_elements ? r.n : 0;
  wire::Blas request;
  request.kind = r.kind;
  request.m = static_cast<uint64_t>(n);
  request.n = 1;
  request.a = operand_of(r.x, n);
  request.b = operand_of(r.y, n);
  std::optional<HostResult> for_host;
  if (!on_device(r.handle) && !for_host.emplace(*r.handle).memory()) return CUBLAS_STATUS_ALLOC_FAILED;
  void* const into = for_host ? for_host->memory() : r.result;
  request.d = {address_of(into), 1, 1, 0, r.result_type, 0};
  if (const cublasStatus_t s = submit(request, r.handle->stream, caller); s != CUBLAS_STATUS_SUCCESS) return s;
  if (!for_host) return CUBLAS_STATUS_SUCCESS;
  const size_t bytes = size_of(r.result_type);
  if (cudaMemcpyAsync(r.result, into, bytes, cudaMemcpyDeviceToHost, r.handle->stream) != cudaSuccess ||
      cudaStreamSynchronize(r.handle->stream) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  return CUBLAS_STATUS_SUCCESS;
}

struct OuterProduct {
  cublasHandle_t handle = nullptr;
  int64_t m = 0, n = 0;
  const void* alpha = nullptr;
  Vector x, y;
  const void* a = nullptr;
  int64_t lda = 0;
};

// A product along k = 1.
cublasStatus_t add_outer_product(const OuterProduct& p, const Caller& caller) {
  if (!is_handle(p.handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (p.m < 0 || p.n < 0 || p.x.step == 0 || p.y.step == 0 || p.lda < (p.m > 1 ? p.m : 1) || !p.alpha)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (p.m == 0 || p.n == 0) return CUBLAS_STATUS_SUCCESS;
  wire::Blas request;
  request.kind = BlasKind::gemm;
  request.math = p.x.type == ElementType::f64 ? wire::BlasMath::f64 : wire::BlasMath::f32;
  request.m = static_cast<uint64_t>(p.m);
  request.n = static_cast<uint64_t>(p.n);
  request.k = 1;
  request.a = operand_of(p.x, p.m);
  request.b = operand_of(p.y, p.n);
  std::swap(request.b.row_stride, request.b.column_stride);
  request.c = request.d = {address_of(p.a), 1, p.lda, 0, p.x.type, 0};
  request.alpha = scalar_at(p.alpha, p.x.type, on_device(p.handle));
  const float one = 1;
  request.beta = scalar_at(&one, ElementType::f32, false);
  return submit(request, p.handle->stream, caller);
}

struct ExTypes {
  ElementType element{}, scalar{};
};

// All vectors are of one type; f16 and bf16 are computed with in f32.
cublasStatus_t check_types(std::initializer_list<cudaDataType> vectors, cudaDataType scalar, cudaDataType execution,
                           ExTypes& into) {
  const cudaDataType type = *vectors.begin();
  for (const cudaDataType t : vectors) {
    if (t != type) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool half = type == CUDA_R_16F || type == CUDA_R_16BF;
  if (!half && type != CUDA_R_32F && type != CUDA_R_64F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (execution != (half ? CUDA_R_32F : type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (scalar != type && scalar != execution) return CUBLAS_STATUS_NOT_SUPPORTED;
  into = {*element_of(type), *element_of(scalar)};
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

// Types and widths, each with its names.
#define FB_TYPE float
#define FB_TEXT(stem) "cublasS" #stem
#define FB_INDEX_TEXT(which) "cublasIs" #which
#define FB_INT int
#define FB_NAME(stem, end) cublasS##stem##end
#define FB_INDEX(which) cublasIs##which##_v2
#include "ranks/shim/cublas/vectors.inl"
#undef FB_INT
#undef FB_NAME
#undef FB_INDEX
#define FB_INT int64_t
#define FB_NAME(stem, end) cublasS##stem##end##_64
#define FB_INDEX(which) cublasIs##which##_v2_64
#include "ranks/shim/cublas/vectors.inl"
#undef FB_TYPE
#undef FB_TEXT
#undef FB_INDEX_TEXT
#undef FB_INT
#undef FB_NAME
#undef FB_INDEX

#define FB_TYPE double
#define FB_TEXT(stem) "cublasD" #stem
#define FB_INDEX_TEXT(which) "cublasId" #which
#define FB_INT int
#define FB_NAME(stem, end) cublasD##stem##end
#define FB_INDEX(which) cublasId##which##_v2
#include "ranks/shim/cublas/vectors.inl"
#undef FB_INT
#undef FB_NAME
#undef FB_INDEX
#define FB_INT int64_t
#define FB_NAME(stem, end) cublasD##stem##end##_64
#define FB_INDEX(which) cublasId##which##_v2_64
#include "ranks/shim/cublas/vectors.inl"
#undef FB_INT
#undef FB_NAME
#undef FB_INDEX

#define FB_INT int
#define FB_NAME(name) name
#include "ranks/shim/cublas/vectors_ex.inl"
#undef FB_INT
#undef FB_NAME
#define FB_INT int64_t
#define FB_NAME(name) name##_64
#include "ranks/shim/cublas/vectors_ex.inl"
