#include "judge/data/elements.h"

#include <fabricbench/elements.h>

namespace fb::judge {

double read_element(catalog::DType type, const std::byte* at) {
  return fabricbench::oracle::read_element(static_cast<fabricbench::oracle::DType>(type), at);
}

void write_element(catalog::DType type, std::byte* at, double value) {
  fabricbench::oracle::write_element(static_cast<fabricbench::oracle::DType>(type), at, value);
}

}  // namespace fb::judge
