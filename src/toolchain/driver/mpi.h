#pragma once

// The user's MPI (Open MPI or MPICH), found by its compiler wrapper.

#include <string>

#include "common/base/result.h"
#include "toolchain/compile/words.h"

namespace fb::toolchain {

// The flags of the wrapper `program`: `what` is "compile" or "link".
Result<Words> ask_mpi(const std::string& program, const std::string& what);

// The library that lets MPI calls take device pointers (sdk/mpi), compiled against the user's own MPI into `output`.
Result<void> build_mpi_library(const std::string& output, bool use_cache);

}  // namespace fb::toolchain
