#include "base/installed.h"
#include "report/site/assets.h"

namespace fb::report::site {

// A build folder has the same form as an installation. There is no such file in the source tree.
std::optional<std::string> locate_plots() {
  auto folder = locate({.variable = "FABRICBENCH_WEB",
                        .name = "web",
                        .source = "",
                        .sign = "plots.js",
                        .kind = "folder of plots",
                        .them = "the plots"});
  return folder ? std::optional(std::move(*folder)) : std::nullopt;
}

}  // namespace fb::report::site
