#pragma once

#include <optional>

#include "common/ptx/module.h"
#include "virtual_node/num/tensor/tensor_engine.h"

namespace fb::simt {

// The elements that a matrix instruction's type names; none for f64, b1 and what is no factor.
inline std::optional<num::tensor::Element> tensor_element(ptx::Type type) {
  using num::tensor::Element;
  using ptx::Type;
  switch (type) {
    case Type::f16:
      return Element::f16;
    case Type::bf16:
      return Element::bf16;
    case Type::tf32:
      return Element::tf32;
    case Type::e4m3:
      return Element::e4m3;
    case Type::e5m2:
      return Element::e5m2;
    case Type::s8:
      return Element::s8;
    case Type::u8:
      return Element::u8;
    case Type::s4:
      return Element::s4;
    case Type::u4:
      return Element::u4;
    default:
      return std::nullopt;
  }
}

}  // namespace fb::simt
