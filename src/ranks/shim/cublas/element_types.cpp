#include "ranks/shim/cublas/element_types.h"

#include <algorithm>

namespace fb::shim::cublas {

using wire::BlasMath;
using wire::ElementType;

std::optional<ElementType> element_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
      return ElementType::i8;
    case CUDA_R_32I:
      return ElementType::i32;
    case CUDA_R_16F:
      return ElementType::f16;
    case CUDA_R_16BF:
      return ElementType::bf16;
    case CUDA_R_32F:
      return ElementType::f32;
    case CUDA_R_64F:
      return ElementType::f64;
    case CUDA_R_8F_E4M3:
      return ElementType::e4m3;
    case CUDA_R_8F_E5M2:
      return ElementType::e5m2;
    default:
      return std::nullopt;
  }
}

bool is_complex(cudaDataType type) {
  return type == CUDA_C_16F || type == CUDA_C_16BF || type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_8I;
}

namespace {

bool is_fp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool is_one_of(cudaDataType type, std::initializer_list<cudaDataType> types) {
  return std::ranges::find(types, type) != types.end();
}

// fp8: C is f16, bf16 or f32, D the same or fp8; not both factors e5m2.
bool fp8_fits(const ProductTypes& t) {
  if (t.a == CUDA_R_8F_E5M2 && t.b == CUDA_R_8F_E5M2) return false;
  if (!is_one_of(t.c, {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F})) return false;
  return t.d == t.c || (is_fp8(t.d) && t.c != CUDA_R_32F);
}

bool f32_fits(const ProductTypes& t) {
  if (is_fp8(t.a) && is_fp8(t.b)) return fp8_fits(t);
  if (t.a != t.b || t.c != t.d) return false;
  switch (t.a) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return t.c == t.a || t.c == CUDA_R_32F;
    case CUDA_R_8I:
    case CUDA_R_32F:
      return t.c == CUDA_R_32F;
    default:
      return false;
  }
}

BlasMath f32_math(const ProductTypes& t, cublasMath_t mode) {
  if (t.a != CUDA_R_32F) return BlasMath::f32;
  const int base = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  return base == CUBLAS_TF32_TENSOR_OP_MATH ? BlasMath::tf32 : BlasMath::f32;
}

bool all_are(const ProductTypes& t, cudaDataType type) {
  return t.a == type && t.b == type && t.c == type && t.d == type;
}

}  // namespace

cublasStatus_t find_math(const ProductTypes& t, cublasMath_t mode, ProductMath& into) {
  const cudaDataType f32 = CUDA_R_32F;
  bool fits = false;
  cudaDataType implied = f32;
  switch (t.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      fits = all_are(t, CUDA_R_16F);
      implied = CUDA_R_16F;
      into.math = BlasMath::f32;
      break;
    case CUBLAS_COMPUTE_32F:
      fits = f32_fits(t);
      into.math = f32_math(t, mode);
      break;
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      fits = f32_fits(t);
      into.math = BlasMath::f32;
      break;
    case CUBLAS_COMPUTE_32F_FAST_16F:
      fits = all_are(t, f32);
      into.math = BlasMath::f16;
      break;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      fits = all_are(t, f32);
      into.math = BlasMath::bf16;
      break;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      fits = all_are(t, f32);
      into.math = BlasMath::tf32;
      break;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      fits = all_are(t, CUDA_R_64F);
      implied = CUDA_R_64F;
      into.math = BlasMath::f64;
      break;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      // Results of int8 are scaled by f32.
      implied = t.c == CUDA_R_8I ? f32 : CUDA_R_32I;
      fits = t.a == CUDA_R_8I && t.b == CUDA_R_8I && t.c == t.d && is_one_of(t.c, {CUDA_R_32I, CUDA_R_8I});
      into.math = BlasMath::i32;
      break;
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!fits || (t.scale && *t.scale != implied)) return CUBLAS_STATUS_NOT_SUPPORTED;
  into.scalar = *element_of(implied);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace fb::shim::cublas
