#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang 19 does not support __cluster_dims__; the SDK headers make it an annotation, which clang keeps in its IR only.
// In the PTX exactly the annotated kernels are declared before they are defined. Removes those declarations and gives
// each annotated kernel its .reqnctapercluster, as nvcc does.
std::string apply_cluster_dims(std::string ptx, std::string_view llvm_ir);

}  // namespace fb::toolchain
