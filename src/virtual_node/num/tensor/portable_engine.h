#pragma once

#include "virtual_node/num/tensor/engine.h"

namespace fb::num::tensor {

extern const Engine kPortableEngine;

// The value of element k of a word.
float element_value(Element element, uint32_t word, uint32_t k);

}  // namespace fb::num::tensor
