#pragma once

#include <cuda_runtime_api.h>

#include <expected>

#include "common/wire/status.h"

namespace fb::shim {

// Both of CUDA's APIs number their errors alike, and so does the machine.
using Error = cudaError_t;
template <class T>
using Expected = std::expected<T, Error>;

inline Error from_status(wire::Status status) { return static_cast<Error>(status); }
inline std::unexpected<Error> failure(Error error) { return std::unexpected(error); }

// After such an error the device's context is lost: every later call gives it again.
bool is_sticky(Error error);

// "cudaErrorInvalidValue"; null for a number that is no error.
const char* error_name(Error error);
// A sentence; null for a number that is no error.
const char* error_text(Error error);

}  // namespace fb::shim
