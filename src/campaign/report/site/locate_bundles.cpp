#include "campaign/report/site/assets.h"
#include "common/base/installed.h"

namespace fb::report::site {

// A build folder has the layout of an installation. The source tree has no bundles.
std::optional<std::string> locate_bundles() {
  auto folder = locate({.variable = "FABRICBENCH_WEB",
                        .name = "web",
                        .source = "",
                        .sign = "plots.js",
                        .kind = "folder of bundles",
                        .them = "the bundles"});
  return folder ? std::optional(std::move(*folder)) : std::nullopt;
}

}  // namespace fb::report::site
