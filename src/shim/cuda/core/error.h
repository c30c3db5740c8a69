#pragma once

#include <cuda_runtime_api.h>

#include <expected>
#include <string>

#include "wire/status.h"

namespace fb::shim {

// Both of CUDA's APIs number their errors alike, and so does the machine.
using Error = cudaError_t;
template <class T>
using Expected = std::expected<T, Error>;

inline Error from_status(wire::Status status) { return static_cast<Error>(status); }
inline std::unexpected<Error> failure(Error error) { return std::unexpected(error); }

// After such an error the device's context is lost: every later call gives it again.
bool is_sticky(Error error);

// Remembers a failure for cudaGetLastError and returns it: how every function of the runtime API ends. The machine is
// told of a function's first failure: programs often ignore it, and then it explains what goes wrong later.
Error record(Error error, const char* function = __builtin_FUNCTION());
// The same for a failure about which there is more to say: "kernel sum<<<1, 2048>>>".
Error record_launch(Error error, const std::string& launch);

// "cudaErrorInvalidValue"; null for a number that is no error.
const char* error_name(Error error);
// A sentence; null for a number that is no error.
const char* error_text(Error error);

// The answer of a call that is declared and not real. The machine counts it by name, once per process.
Error not_supported(const char* function);

// Says on standard error and in the run's record what is wrong with the program, and gives `error`.
std::unexpected<Error> tell_problem(const std::string& problem, Error error);

}  // namespace fb::shim
