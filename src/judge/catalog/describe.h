#pragma once

// Problems as text and as JSON.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/catalog/pack.h"

namespace fb::catalog {

// A line for each: name, category, level, library, worlds, title. With a limit of columns the title is cut, and on a
// narrow terminal some of the others are left out; a name never is.
std::string list_as_text(const std::vector<const Problem*>& problems, std::optional<size_t> columns = std::nullopt);
std::string list_as_json(const Pack& pack, const std::vector<const Problem*>& problems);

// Everything a solver may know: the statement, Args, sizes, rules, cost, and what a verdict will refer to. Neither the
// reference nor the oracle.
std::string show_as_text(const Pack& pack, const Problem& problem);
std::string show_as_json(const Pack& pack, const Problem& problem);

}  // namespace fb::catalog
