#pragma once

#include <string>

namespace fb::judge {

// A hash of everything besides problem, answer and request that a verdict depends on: fabricbench, fabricbench-machine,
// fabricbench-rank, libfabricbench_cuda.so, the SDK's headers, the compiler, and the values of the platform (a name or
// a file). Verdicts and times that are kept are those of one identity. Parts that are missing have a hash of their own.
std::string identity(const std::string& platform);

}  // namespace fb::judge
