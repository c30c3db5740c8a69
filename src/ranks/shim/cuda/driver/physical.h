#pragma once

#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// Questions may name any of them.
inline constexpr unsigned long long kKnownHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                                                        CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT |
                                                        CU_MEM_HANDLE_TYPE_FABRIC;

// Memory is shared by file descriptor, and where there are switches of NVLink by fabric handles.
Error check_handle_types(unsigned long long types);
// How memory may be exported, as the machine is told, and back.
uint32_t shareable_by(unsigned long long types);
unsigned long long handle_types(uint32_t shareable);

// Wrong handles of memory are wrong values to these functions.
Error as_value(Error error);

}  // namespace fb::shim
