#pragma once

#include <vector>

#include "base/result.h"
#include "catalog/problem.h"

namespace fb::catalog {

// What statement.md does not say and must: every tensor, every parameter and every rule, in backticks. Empty if nothing
// is missing.
std::vector<Diagnostic> lint_statement(const Problem& problem);

}  // namespace fb::catalog
