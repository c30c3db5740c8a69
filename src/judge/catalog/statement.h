#pragma once

#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::catalog {

// The tensors, parameters and rules that statement.md does not mention in backticks. Empty if nothing is missing.
std::vector<Diagnostic> lint_statement(const Problem& problem);

}  // namespace fb::catalog
