#pragma once

// The sandbox of compilers.

#include <string>
#include <vector>

#include "common/base/process.h"
#include "common/base/result.h"
#include "judge/build/build_request.h"
#include "toolchain/compile/invocation.h"

namespace fb::judge {

// Runs an invocation under the limits of `request`, and in its sandbox if it has one. `toolkit`: a folder of the
// compiler that is not the system's; may be empty. Throws where fabricbench-confine is missing.
toolchain::Wrapper build_wrapper(const BuildRequest& request, const std::string& toolkit);

// `time` is what build_wrapper() limits: a verdict must not depend on the load of this computer.
inline toolchain::TimeLimits time_limits(const BuildLimits& limits) { return {limits.wall, limits.time}; }

// What a compiler said, for the candidate's author: no paths of ours (`folders`), in plain words where a limit was
// reached, and not too much of it. Throws where the fault is the sandbox's.
Errors explain(Errors errors, const std::vector<std::string>& folders, const BuildLimits& limits);

}  // namespace fb::judge
