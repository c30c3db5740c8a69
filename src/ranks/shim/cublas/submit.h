#pragma once

// A call on its way to the machine.

#include <cublas_v2.h>

#include <cstdint>

#include "common/wire/messages.h"

namespace fb::shim::cublas {

struct Caller {
  const char* name = "";
  const void* address = nullptr;
};

// Puts it on the stream, or into the graph that the stream captures.
cublasStatus_t submit(wire::Blas& request, cudaStream_t stream, const Caller& caller);

wire::BlasScalar scalar_at(const void* pointer, wire::ElementType type, bool on_device);
cublasStatus_t status_of(int cuda_error);

inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace fb::shim::cublas
