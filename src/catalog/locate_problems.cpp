#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "catalog/pack.h"

namespace fb::catalog {
namespace {

namespace fs = std::filesystem;

bool is_pack(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "pack.toml", ignored);
}

}  // namespace

Result<std::string> locate_problems() {
  if (const char* chosen = std::getenv("FABRICBENCH_PROBLEMS"); chosen != nullptr && *chosen != '\0') {
    if (is_pack(chosen)) return std::string(chosen);
    return error(fmt::format("FABRICBENCH_PROBLEMS names no pack of problems: {}/pack.toml is missing", chosen));
  }
  std::error_code ignored;
  const fs::path installed =
      (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/fabricbench/problems").lexically_normal();
  for (const fs::path& folder : {installed, fs::path(FB_SOURCE_PROBLEMS)}) {
    if (is_pack(folder)) return folder.string();
  }
  return error(fmt::format("the problems were found neither in {} nor in {}: set FABRICBENCH_PROBLEMS",
                           installed.string(), FB_SOURCE_PROBLEMS));
}

}  // namespace fb::catalog
