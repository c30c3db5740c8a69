#pragma once

#include <nccl.h>

#include <string>

namespace fb::shim::nccl {

// Remembers what is wrong for ncclGetLastError, and gives the result.
ncclResult_t fail(ncclResult_t result, std::string what);
// Work that is not launched because of the failure that was remembered last; `where`: the line of the call.
void tell_failed(ncclResult_t result, const char* where);
// What an error of CUDA, which is what the machine's are numbered by, means here.
ncclResult_t from_cuda(int error, const char* what);

}  // namespace fb::shim::nccl
