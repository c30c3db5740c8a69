#pragma once

// The files in assets/.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fb::report::site {

// Names and contents of the files that are compiled in from src/campaign/report/web/.
std::vector<std::pair<std::string_view, std::string_view>> embedded_assets();

// The folder with plots.js, code.js and their licences, which npm makes: $FABRICBENCH_WEB, or else the folder that is
// installed or built beside the program. None: they were not built.
std::optional<std::string> locate_bundles();

}  // namespace fb::report::site
