#pragma once

#include "virtual_node/num/matrix/kernel.h"

namespace fb::num::matrix {

extern const Kernel<float> kAvx2Kernel32, kAvx512Kernel32;
extern const Kernel<double> kAvx2Kernel64, kAvx512Kernel64;

}  // namespace fb::num::matrix
