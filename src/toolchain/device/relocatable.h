#pragma once

// Objects whose device code refers to other files (nvcc -dc). clang's -fgpu-rdc makes them by nvcc's conventions: the
// object's constructor calls __cudaRegisterLinkedBinary_ID with its fat binary, which is also the global symbol
// __fatbinwrap_ID; the device link (device_link.h) defines the function.

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang derives ID from the name of the source, as it was given. Two files of one name would not link: puts an ID of
// the same length in its place, from the hexadecimal digits of `unique_id`.
std::string with_unique_module_id(std::string object, std::string_view unique_id);

// clang gives static names that the host uses a suffix (_ZL1x becomes _ZL1x__static__HASH) and leaves the old name
// where a kernel came before the use, as .extern that nothing defines. Returns the PTX with the new name everywhere.
std::string with_suffixed_names(std::string ptx);

// clang keeps instances of templates that only the host uses by a list of their addresses, __clang_gpu_used_external,
// in front of their definitions. PTX has no such names yet at that place, and the definitions stay without the list.
std::string without_list_of_uses(std::string ptx);

// Kernels whose addresses are used before their definitions are declared first: LLVM's text does not do it.
std::string with_declared_kernels(std::string ptx);

// Device code without a function has no .file; messages of the linker name units by it.
std::string with_file_name(std::string ptx, std::string_view source);

}  // namespace fb::toolchain
