#pragma once

// A new problem to start from: small but correct, so that its author edits something that works.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace fb::catalog {

// The files of problem `name` of `category` and `track`: name of the file and its text.
Result<std::vector<std::pair<std::string, std::string>>> make_skeleton(std::string_view track,
                                                                       std::string_view category,
                                                                       std::string_view name);

// The same as in src/judge/catalog/skeleton, with TRACK and CATEGORY instead of the names.
std::vector<std::pair<std::string_view, std::string_view>> skeleton_files();

}  // namespace fb::catalog
