#pragma once

// problem.cpp of an exported folder: tensors, sizes and cost of problem.toml as C++, for the harness beside it.

#include <string>

#include "judge/catalog/problem.h"

namespace fb::standalone {

std::string problem_source(const catalog::Problem& problem);

// Ten times the compute capability that the reference needs: 90 for H100. Accesses of system scope begin with V100.
inline constexpr int kLeastCapability = 70;
int least_capability(const catalog::Problem& problem);

// Of what a measurement depends on: Args, tensors, sizes, fills, oracle and driver. Two folders of one hash measure the
// same task.
std::string task_hash(const catalog::Problem& problem);

}  // namespace fb::standalone
