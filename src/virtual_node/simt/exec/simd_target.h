#pragma once

// Which of the compiled instruction sets programs are lowered for. The best one the CPU has, unless a test says
// otherwise.

#include <string>
#include <vector>

namespace fb::simt {

// Names of the targets that were compiled in and this CPU can run, best first: "AVX3", "AVX2", "SCALAR".
std::vector<std::string> simd_targets();

// Programs lowered from now on use this target; empty: the best. Returns false if there is no such target here.
bool use_simd_target(const std::string& name);

}  // namespace fb::simt
