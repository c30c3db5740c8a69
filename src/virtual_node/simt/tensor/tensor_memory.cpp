#include "virtual_node/simt/tensor/tensor_memory.h"

#include "virtual_node/simt/block.h"

namespace fb::simt {

uint32_t TensorMemory::allocate(uint32_t columns) {
  const uint32_t units = columns / kUnit;
  for (uint32_t first = 0; first + units <= used_.size(); first += units) {
    bool is_free = true;
    for (uint32_t k = 0; k < units; ++k) is_free &= !used_[first + k];
    if (!is_free) continue;
    for (uint32_t k = 0; k < units; ++k) used_[first + k] = true;
    sizes_[first] = columns;
    return first * kUnit;
  }
  return kColumns;
}

bool TensorMemory::free(uint32_t column, uint32_t columns) {
  if (column % kUnit != 0 || column >= kColumns || columns == 0 || sizes_[column / kUnit] != columns) return false;
  sizes_[column / kUnit] = 0;
  for (uint32_t k = 0; k < columns / kUnit; ++k) used_[column / kUnit + k] = false;
  return true;
}

bool TensorMemory::holds(uint32_t column, uint32_t columns) const {
  if (column > kColumns || columns > kColumns - column) return false;
  for (uint32_t c = column / kUnit; c * kUnit < column + columns; ++c) {
    if (!used_[c]) return false;
  }
  return true;
}

TensorMemory& Block::tensor_memory() {
  if (!tensor_memory_) tensor_memory_ = std::make_shared<TensorMemory>();
  return *tensor_memory_;
}

}  // namespace fb::simt
