#pragma once

// From assembled sources to shared objects and PTX. The compiler is trusted, what it reads is not: it runs in a sandbox
// in which there are the system's files, the SDK, the source and args.h, and no reference, oracle or other file of the
// host.

#include "common/base/result.h"
#include "judge/build/build_request.h"

namespace fb::judge {

// For the virtual node, with clang and our libraries. Errors are the candidate's: at most 20, "solution.cu:3:5:
// message". Failures of ours (no compiler, no SDK, a sandbox that does not start) throw std::runtime_error.
Result<Built> build_candidate(const BuildRequest& request);

// For GPUs, with nvcc and NVIDIA's libraries. Likewise.
Result<Built> build_candidate_cuda(const BuildRequest& request);

}  // namespace fb::judge
