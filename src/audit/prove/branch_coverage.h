#pragma once

// Looks for paths of a problem's reference and driver that no judged session takes: its sizes and worlds are too few.

#include <string>
#include <string_view>
#include <vector>

#include "common/record/run_record.h"
#include "judge/catalog/problem.h"

namespace fb::prove {

// How the compiler knows the reference, when it is judged as an answer, and the driver.
inline constexpr std::string_view kReferenceFile = "solution.cu", kDriverFile = "driver.cu";

struct Coverage {
  size_t branches = 0;       // lines of kernels that branch, and kernels
  size_t argued = 0;         // of those that go one way only: named by [[unreached]]
  std::string missing = {};  // a line for each of the others
};

Coverage cover(const catalog::Problem& problem, const std::vector<record::BranchWays>& branches);

}  // namespace fb::prove
