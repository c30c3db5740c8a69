#pragma once

#include <cstddef>
#include <string_view>

namespace fb::num::matrix {

// Of a product of packed factors (virtual_node/num/matrix/matrix_product.h).
template <class T>
struct Kernel {
  std::string_view name;
  size_t rows = 0, columns = 0;
  // c[rows][columns], rows `stride` apart: adds the products of `depth` values of k.
  void (*add)(const T* a, const T* b, size_t depth, T* c, size_t stride) = nullptr;
};

}  // namespace fb::num::matrix
