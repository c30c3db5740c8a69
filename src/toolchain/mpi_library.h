#pragma once

#include <string>

#include "base/result.h"

namespace fb::toolchain {

// The library that lets MPI calls take device pointers (sdk/mpi), compiled against the user's own MPI into `output`.
Result<void> build_mpi_library(const std::string& output, bool use_cache);

}  // namespace fb::toolchain
