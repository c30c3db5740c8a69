#pragma once

#include <cublasLt.h>

#include "common/wire/messages.h"
#include "ranks/shim/cublas/lt_descriptors.h"

namespace fb::shim::cublas {

struct MatmulLayouts {
  const Layout *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
};

// The product that descriptor and layouts name, without its addresses; or why there is none.
cublasStatus_t describe_matmul(const MatmulDesc* desc, const MatmulLayouts& layouts, wire::Blas& request);

// Of the only algorithm there is.
void set_algorithm(cublasLtMatmulAlgo_t& algo);
bool is_algorithm(const cublasLtMatmulAlgo_t& algo);

}  // namespace fb::shim::cublas
