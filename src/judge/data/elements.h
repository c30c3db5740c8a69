#pragma once

// Elements of tensors as numbers.

#include <cstddef>

#include "judge/catalog/dtype.h"

namespace fb::judge {

// An element as the nearest double.
double read_element(catalog::DType type, const std::byte* at);
// The nearest number of the format.
void write_element(catalog::DType type, std::byte* at, double value);

}  // namespace fb::judge
