#include <immintrin.h>

#include "num/tensor/engines_x86.h"
#include "num/tensor/tensor_engine.h"

namespace fb::num::tensor {
namespace {

#include "num/tensor/avx512_vectors.h"
#include "num/tensor/vector_kernels.h"

}  // namespace

extern const Engine kAvx512Engine{"avx512", prepare_a, prepare_b, multiply, multiply_many, multiply_f64};

}  // namespace fb::num::tensor
