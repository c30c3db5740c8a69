// Choosing an algorithm: there is one, which the machine makes fast by tiles of its own choice.

#include <atomic>
#include <cstring>

#include "ranks/shim/cublas/element_types.h"
#include "ranks/shim/cublas/export.h"
#include "ranks/shim/cublas/handle.h"
#include "ranks/shim/cublas/lt_matmul.h"

using namespace fb::shim::cublas;

namespace {

std::atomic<size_t> cache_capacity = 8192;

cublasStatus_t answer(cublasLtMatmulDesc_t desc, const MatmulLayouts& layouts,
                      cublasLtMatmulHeuristicResult_t& result) {
  fb::wire::Blas request;
  result = {};
  result.state = describe_matmul(desc ? desc_of(desc) : nullptr, layouts, request);
  if (result.state != CUBLAS_STATUS_SUCCESS) return result.state;
  set_algorithm(result.algo);
  result.wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

MatmulLayouts layouts_of(cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                         cublasLtMatrixLayout_t d) {
  return {layout_of(a), layout_of(b), layout_of(c), layout_of(d)};
}

cublasStatus_t check_types(const ProductTypes& types) {
  ProductMath math;
  return find_math(types, CUBLAS_DEFAULT_MATH, math);
}

}  // namespace

FB_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                     cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                                     cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                                     cublasLtMatmulPreference_t preference, int requested,
                                                     cublasLtMatmulHeuristicResult_t results[], int* returned) {
  if (returned) *returned = 0;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!preference || requested <= 0 || !results || !returned) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasStatus_t s = answer(desc, layouts_of(Adesc, Bdesc, Cdesc, Ddesc), results[0]);
  if (s == CUBLAS_STATUS_SUCCESS) *returned = 1;
  return s;
}

FB_API cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                              cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              const cublasLtMatmulAlgo_t* algo,
                                              cublasLtMatmulHeuristicResult_t* result) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!algo || !result || !is_algorithm(*algo)) return CUBLAS_STATUS_INVALID_VALUE;
  return answer(desc, layouts_of(Adesc, Bdesc, Cdesc, Ddesc), *result);
}

FB_API cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType scale,
                                               cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d,
                                               int requested, int ids[], int* returned) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || !ids || !returned) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  if (const cublasStatus_t s = check_types({a, b, c, d, compute, scale}); s != CUBLAS_STATUS_SUCCESS) return s;
  ids[0] = 0;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

FB_API cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType scale,
                                             cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d, int id,
                                             cublasLtMatmulAlgo_t* algo) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!algo || id != 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t s = check_types({a, b, c, d, compute, scale}); s != CUBLAS_STATUS_SUCCESS) return s;
  set_algorithm(*algo);
  return CUBLAS_STATUS_SUCCESS;
}

// Settings of the algorithm are kept and make no difference: data[1 + number].
FB_API cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                           cublasLtMatmulAlgoConfigAttributes_t attr, const void* buf,
                                                           size_t size) {
  if (!algo || !is_algorithm(*algo) || !buf || attr <= CUBLASLT_ALGO_CONFIG_ID ||
      attr > CUBLASLT_ALGO_CONFIG_STAGES_ID || size < sizeof(uint32_t))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&algo->data[1 + attr], buf, sizeof(uint32_t));
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                           cublasLtMatmulAlgoConfigAttributes_t attr, void* buf,
                                                           size_t size, size_t* written) {
  if (!algo || !is_algorithm(*algo) || attr < CUBLASLT_ALGO_CONFIG_ID || attr > CUBLASLT_ALGO_CONFIG_STAGES_ID ||
      (size == 0 ? !written : !buf || size < sizeof(uint32_t)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (size != 0) std::memcpy(buf, &algo->data[1 + attr], sizeof(uint32_t));
  if (written) *written = sizeof(uint32_t);
  return CUBLAS_STATUS_SUCCESS;
}

FB_API cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (!capacity) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}
