#include <cstdlib>
#include <filesystem>

#include "report/site/assets.h"

namespace fb::report::site {
namespace {

namespace fs = std::filesystem;

bool has_plots(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "plots.js", ignored);
}

}  // namespace

std::optional<std::string> locate_plots() {
  if (const char* chosen = std::getenv("FABRICBENCH_WEB"); chosen != nullptr && *chosen != '\0') {
    return has_plots(chosen) ? std::optional<std::string>(chosen) : std::nullopt;
  }
  // A build folder has the same form as an installation.
  std::error_code ignored;
  const fs::path beside =
      (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/fabricbench/web").lexically_normal();
  return has_plots(beside) ? std::optional(beside.string()) : std::nullopt;
}

}  // namespace fb::report::site
