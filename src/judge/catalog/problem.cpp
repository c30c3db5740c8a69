#include "judge/catalog/problem.h"

#include <fmt/format.h>

namespace fb::catalog {

Values Problem::values(const SizeClass& size, int world, int rank) const {
  Values all = size.values;
  all["world"] = world;
  all["rank"] = rank;
  return all;
}

Result<int64_t> Problem::elements(const Tensor& tensor, const Values& known) const {
  int64_t product = 1;
  for (const Expression& extent : tensor.shape) {
    const auto value = extent.evaluate(known);
    if (!value) return value;
    if (__builtin_mul_overflow(product, *value, &product))
      return error(fmt::format("the number of elements of '{}' does not fit into 64 bits", tensor.name));
  }
  return product;
}

}  // namespace fb::catalog
