// cublasLtMatmul and cublasLtMatrixTransform.

#include "ranks/shim/cublas/lt_matmul.h"

#include <algorithm>
#include <cstring>

#include "ranks/shim/cublas/element_types.h"
#include "ranks/shim/cublas/export.h"
#include "ranks/shim/cublas/handle.h"
#include "ranks/shim/cublas/product.h"

namespace fb::shim::cublas {
namespace {

bool is_fp8(uint32_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

cudaDataType type_of(const Layout& l) { return static_cast<cudaDataType>(l.type); }

cublasStatus_t check_layout(const Layout& l) {
  if (l.order > CUBLASLT_ORDER_COL32_2R_4R4 || l.batch_mode > CUBLASLT_BATCH_MODE_POINTER_ARRAY || l.batches < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (l.order > CUBLASLT_ORDER_ROW || !element_of(type_of(l))) return CUBLAS_STATUS_NOT_SUPPORTED;
  const uint64_t least = l.order == CUBLASLT_ORDER_COL ? l.rows : l.columns;
  return l.ld < static_cast<int64_t>(std::max<uint64_t>(1, least)) ? CUBLAS_STATUS_INVALID_VALUE
                                                                   : CUBLAS_STATUS_SUCCESS;
}

wire::BlasOperand operand_of(const Layout& l, int trans) {
  const bool by_columns = (l.order == CUBLASLT_ORDER_COL) == (trans == CUBLAS_OP_N);
  wire::BlasOperand o;
  o.row_stride = by_columns ? 1 : l.ld;
  o.column_stride = by_columns ? l.ld : 1;
  o.batch_stride = l.batch_stride;
  o.type = *element_of(type_of(l));
  o.by_pointers = l.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY ? 1 : 0;
  return o;
}

// fp8 on Hopper: A transposed, B not, all lines at multiples of 16 bytes.
bool fp8_fits(const MatmulDesc& d, const MatmulLayouts& l) {
  const auto in_columns = [](const Layout& x) { return x.order == CUBLASLT_ORDER_COL && x.ld % 16 == 0; };
  return d.transa != CUBLAS_OP_N && d.transb == CUBLAS_OP_N && in_columns(*l.a) && in_columns(*l.b) &&
         l.d->order == CUBLASLT_ORDER_COL && l.a->rows % 16 == 0;
}

cublasStatus_t set_epilogue(const MatmulDesc& d, const Layout& result, wire::Blas& request) {
  constexpr uint32_t kAux = 128;
  switch (d.epilogue & ~(CUBLASLT_EPILOGUE_BIAS | kAux)) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT:
      request.epilogue = wire::BlasEpilogue::none;
      break;
    case CUBLASLT_EPILOGUE_RELU:
      request.epilogue = wire::BlasEpilogue::relu;
      break;
    case CUBLASLT_EPILOGUE_GELU:
      request.epilogue = wire::BlasEpilogue::gelu;
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (d.epilogue == 0) return CUBLAS_STATUS_INVALID_VALUE;
  if ((d.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    if (!d.bias) return CUBLAS_STATUS_INVALID_VALUE;
    const auto type = element_of(static_cast<cudaDataType>(d.bias_type >= 0      ? d.bias_type
                                                           : is_fp8(result.type) ? CUDA_R_16BF
                                                                                 : static_cast<int>(result.type)));
    if (!type || d.bias_stride < 0) return CUBLAS_STATUS_INVALID_VALUE;
    request.bias = address_of(d.bias);
    request.bias_type = *type;
    request.bias_batch_stride = static_cast<uint64_t>(d.bias_stride);
  }
  if ((d.epilogue & kAux) != 0) {
    // That of relu is a mask of bits.
    if (request.epilogue != wire::BlasEpilogue::gelu || d.scale_aux || d.largest_aux)
      return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!d.aux || d.aux_ld < static_cast<int64_t>(result.rows)) return CUBLAS_STATUS_INVALID_VALUE;
    const auto type =
        element_of(static_cast<cudaDataType>(d.aux_type >= 0 ? d.aux_type : static_cast<int>(result.type)));
    if (!type) return CUBLAS_STATUS_NOT_SUPPORTED;
    request.aux = {address_of(d.aux), 1, d.aux_ld, d.aux_stride, *type, 0};
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool has_scalars_only(const MatmulDesc& d) {
  const int modes[] = {d.mode_a, d.mode_b, d.mode_c, d.mode_d, d.mode_aux, d.mode_out};
  return std::ranges::all_of(modes, [](int mode) { return mode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F; }) &&
         !d.scale_out && !d.emulation;
}

constexpr uint64_t kAlgorithm = 0x6661627269630001;

}  // namespace

void set_algorithm(cublasLtMatmulAlgo_t& algo) {
  algo = {};
  algo.data[0] = kAlgorithm;
}
bool is_algorithm(const cublasLtMatmulAlgo_t& algo) { return algo.data[0] == kAlgorithm; }

cublasStatus_t describe_matmul(const MatmulDesc* desc, const MatmulLayouts& l, wire::Blas& request) {
  if (!desc || !l.a || !l.b || !l.c || !l.d) return CUBLAS_STATUS_INVALID_VALUE;
  const MatmulDesc& d = *desc;
  for (const Layout* layout : {l.a, l.b, l.c, l.d}) {
    if (const cublasStatus_t s = check_layout(*layout); s != CUBLAS_STATUS_SUCCESS) return s;
    if (layout->batches != l.d->batches || layout->batch_mode != l.d->batch_mode) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto operation = [](int value) { return static_cast<cublasOperation_t>(value); };
  if (!is_operation(operation(d.transa)) || !is_operation(operation(d.transb)) || d.pointer_mode < 0 ||
      d.pointer_mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = d.transa != CUBLAS_OP_N, tb = d.transb != CUBLAS_OP_N;
  const uint64_t m = ta ? l.a->columns : l.a->rows, k = ta ? l.a->rows : l.a->columns;
  const uint64_t inner = tb ? l.b->columns : l.b->rows, n = tb ? l.b->rows : l.b->columns;
  if (k != inner || l.c->rows != m || l.c->columns != n || l.d->rows != m || l.d->columns != n)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (d.transc != CUBLAS_OP_N || d.fill_mode != CUBLAS_FILL_MODE_FULL ||
      d.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE || !has_scalars_only(d))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  ProductMath math;
  const ProductTypes types{type_of(*l.a),
                           type_of(*l.b),
                           type_of(*l.c),
                           type_of(*l.d),
                           static_cast<cublasComputeType_t>(d.compute),
                           static_cast<cudaDataType>(d.scale_type)};
  if (const cublasStatus_t s = find_math(types, CUBLAS_DEFAULT_MATH, math); s != CUBLAS_STATUS_SUCCESS) return s;
  const bool fp8 = is_fp8(l.a->type);
  if (fp8 && !fp8_fits(d, l)) return CUBLAS_STATUS_NOT_SUPPORTED;
  // Scales belong to fp8.
  if (!fp8 && (d.scale_a || d.scale_b || d.scale_c || d.scale_d || d.largest)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_fp8(l.d->type) && (d.scale_d || d.largest)) return CUBLAS_STATUS_NOT_SUPPORTED;
  request.kind = wire::BlasKind::gemm;
  request.math = math.math;
  request.m = m;
  request.n = n;
  request.k = k;
  request.batches = static_cast<uint64_t>(l.d->batches);
  request.a = operand_of(*l.a, d.transa);
  request.b = operand_of(*l.b, d.transb);
  request.c = operand_of(*l.c, CUBLAS_OP_N);
  request.d = operand_of(*l.d, CUBLAS_OP_N);
  request.alpha.type = request.beta.type = math.scalar;
  request.scale_a = address_of(d.scale_a);
  request.scale_b = address_of(d.scale_b);
  request.scale_c = address_of(d.scale_c);
  request.scale_d = address_of(d.scale_d);
  request.largest = address_of(d.largest);
  return set_epilogue(d, *l.d, request);
}

}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

FB_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                                     const void* A, cublasLtMatrixLayout_t Adesc, const void* B,
                                     cublasLtMatrixLayout_t Bdesc, const void* beta, const void* C,
                                     cublasLtMatrixLayout_t Cdesc, void* D, cublasLtMatrixLayout_t Ddesc,
                                     const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                                     cudaStream_t stream) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !desc) return CUBLAS_STATUS_INVALID_VALUE;
  fb::wire::Blas request;
  const MatmulLayouts layouts{layout_of(Adesc), layout_of(Bdesc), layout_of(Cdesc), layout_of(Ddesc)};
  if (const cublasStatus_t s = describe_matmul(desc_of(desc), layouts, request); s != CUBLAS_STATUS_SUCCESS) return s;
  constexpr uintptr_t kAlignment = 16;
  if ((workspace_bytes != 0 && !workspace) || reinterpret_cast<uintptr_t>(workspace) % kAlignment != 0 ||
      (algo && !is_algorithm(*algo)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (request.m == 0 || request.n == 0 || request.batches == 0) return CUBLAS_STATUS_SUCCESS;
  if (!A || !B || !D || (C == D && (Cdesc != Ddesc && std::memcmp(Cdesc, Ddesc, sizeof *Cdesc) != 0)))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool on_device = desc_of(desc)->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  request.alpha = scalar_at(alpha, request.alpha.type, on_device);
  request.beta = scalar_at(beta, request.beta.type, on_device);
  if (!C && (on_device || request.beta.value != 0)) return CUBLAS_STATUS_INVALID_VALUE;
  request.a.address = address_of(A);
  request.b.address = address_of(B);
  request.c.address = address_of(C);
  request.d.address = address_of(D);
  // Two partial sums at least.
  request.may_split = workspace_bytes >= 8 * request.m * request.n * request.batches ? 1 : 0;
  return submit(request, stream, {"cublasLtMatmul", FB_CALLER});
}

FB_API cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc,
                                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                                              const void* beta, const void* B, cublasLtMatrixLayout_t Bdesc, void* C,
                                              cublasLtMatrixLayout_t Cdesc, cudaStream_t stream) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !alpha || !beta || !Cdesc || !C || (A && !Adesc) || (B && !Bdesc)) return CUBLAS_STATUS_INVALID_VALUE;
  const TransformDesc& d = *transform_of(desc);
  const Layout& result = *layout_of(Cdesc);
  const bool on_device = d.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  const auto scale = static_cast<cudaDataType>(d.scale_type);
  if (scale != CUDA_R_32F && scale != CUDA_R_64F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE || result.batches != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (const cublasStatus_t s = check_layout(result); s != CUBLAS_STATUS_SUCCESS) return s;
  fb::wire::Blas request;
  request.kind = fb::wire::BlasKind::matrix_sum;
  request.m = result.rows;
  request.n = result.columns;
  request.d = operand_of(result, CUBLAS_OP_N);
  request.d.address = address_of(C);
  const auto add = [&](const void* at, cublasLtMatrixLayout_t layout, int trans, const void* scalar,
                       fb::wire::BlasOperand& operand, fb::wire::BlasScalar& factor) {
    constexpr float kNothing = 0;
    factor = scalar_at(&kNothing, fb::wire::ElementType::f32, false);
    if (!at) return CUBLAS_STATUS_SUCCESS;
    const Layout& l = *layout_of(layout);
    if (const cublasStatus_t s = check_layout(l); s != CUBLAS_STATUS_SUCCESS) return s;
    const bool turned = trans != CUBLAS_OP_N;
    if ((turned ? l.columns : l.rows) != result.rows || (turned ? l.rows : l.columns) != result.columns)
      return CUBLAS_STATUS_INVALID_VALUE;
    operand = operand_of(l, trans);
    operand.address = address_of(at);
    factor = scalar_at(scalar, *element_of(scale), on_device);
    return CUBLAS_STATUS_SUCCESS;
  };
  if (const cublasStatus_t s = add(A, Adesc, d.transa, alpha, request.a, request.alpha); s != CUBLAS_STATUS_SUCCESS)
    return s;
  if (const cublasStatus_t s = add(B, Bdesc, d.transb, beta, request.b, request.beta); s != CUBLAS_STATUS_SUCCESS)
    return s;
  if (request.m == 0 || request.n == 0) return CUBLAS_STATUS_SUCCESS;
  return submit(request, stream, {"cublasLtMatrixTransform", FB_CALLER});
}
