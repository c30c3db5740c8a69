#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang 19 knows no __cluster_dims__; our headers make it an annotation, which clang keeps in its IR only. A kernel
// that is annotated shows in the PTX as an entry that is declared before it is defined, and nothing else does.
// Takes those declarations out and gives each annotated kernel its .reqnctapercluster, as nvcc writes it.
std::string apply_cluster_dims(std::string ptx, std::string_view llvm_ir);

}  // namespace fb::toolchain
