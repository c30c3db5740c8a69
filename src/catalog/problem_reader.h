#pragma once

// problem.toml → Problem.

#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/problem.h"

namespace fb::catalog {

// Where things stand in problem.toml, for complaints that come later.
struct Places {
  std::vector<Location> tensors, sizes;  // parallel to those of the problem
  Location category, link_bytes, memory_bytes, flops, least_link_bytes;
};

// What the text says; mistakes are added to `errors`. Something harmless stands where a mistake was, so that checks can
// go on and find others.
Problem read_problem(std::string_view text, Places& places, Errors& errors);

// What only the parts together tell: shapes and costs at all sizes and worlds.
void check_problem(const Problem& problem, const Places& places, Errors& errors);

}  // namespace fb::catalog
