#pragma once

// Types as programs name them, as the machine does; which may be combined.

#include <cublas_v2.h>

#include <optional>

#include "common/wire/messages.h"

namespace fb::shim::cublas {

// None: a type that nothing here computes with.
std::optional<wire::ElementType> element_of(cudaDataType type);
bool is_complex(cudaDataType type);

struct ProductTypes {
  cudaDataType a{}, b{}, c{}, d{};
  cublasComputeType_t compute{};
  std::optional<cudaDataType> scale;  // none: what the compute type implies
};

// How the machine computes a product of these types; CUBLAS_STATUS_NOT_SUPPORTED where cuBLAS has none.
struct ProductMath {
  wire::BlasMath math{};
  wire::ElementType scalar{};  // of alpha and beta
};
cublasStatus_t find_math(const ProductTypes& types, cublasMath_t mode, ProductMath& into);

}  // namespace fb::shim::cublas
