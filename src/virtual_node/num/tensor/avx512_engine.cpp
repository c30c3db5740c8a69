#include <immintrin.h>

#include "virtual_node/num/tensor/engines_x86.h"
#include "virtual_node/num/tensor/tensor_engine.h"

namespace fb::num::tensor {
namespace {

#include "virtual_node/num/tensor/avx512_vectors.h"
#include "virtual_node/num/tensor/vector_kernels.h"

}  // namespace

extern const Engine kAvx512Engine{"avx512", prepare_a, prepare_b, multiply, multiply_many, multiply_f64};

}  // namespace fb::num::tensor
