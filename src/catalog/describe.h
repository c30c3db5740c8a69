#pragma once

// Problems as text and as JSON.

#include <string>
#include <vector>

#include "catalog/pack.h"

namespace fb::catalog {

// A line for each: name, category, level, library, worlds, title.
std::string list_as_text(const std::vector<const Problem*>& problems);
std::string list_as_json(const Pack& pack, const std::vector<const Problem*>& problems);

// Everything a solver may know: the statement, Args, sizes, rules, cost, and what a verdict will refer to. Neither the
// reference nor the oracle.
std::string show_as_text(const Pack& pack, const Problem& problem);
std::string show_as_json(const Pack& pack, const Problem& problem);

}  // namespace fb::catalog
