#pragma once

// Files that pages load from assets/.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fb::report::site {

// Hand-written ones, compiled in from web/: names and contents.
std::vector<std::pair<std::string_view, std::string_view>> embedded_assets();

// The folder with plots.js and its licences: $FABRICBENCH_WEB, or else what is installed or built beside the program.
// None: plots were not built.
std::optional<std::string> locate_plots();

}  // namespace fb::report::site
