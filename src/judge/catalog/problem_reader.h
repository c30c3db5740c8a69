#pragma once

// problem.toml → Problem.

#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "judge/catalog/problem.h"

namespace fb::catalog {

// Locations in problem.toml, for errors that are found later.
struct Places {
  std::vector<Location> tensors, sizes;  // parallel to the vectors of the problem
  Location category, track, group, link_bytes, memory_bytes, flops, least_link_bytes, network_bytes,
      least_network_bytes;
};

// Reads the text; errors are added to `errors`. A harmless value replaces a wrong one, so that the checks can go on and
// find further errors.
Problem read_problem(std::string_view text, Places& places, Errors& errors);
// Likewise variant.toml, over the text of a problem.toml that is right; also the name.
Problem read_variant(std::string_view text, std::string_view problem, Places& places, Errors& errors);

// Checks across parts: shapes and costs at all sizes and worlds.
void check_problem(const Problem& problem, const Places& places, Errors& errors);

}  // namespace fb::catalog
